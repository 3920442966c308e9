#include "llm/decoder/upload_block.h"

#include <algorithm>
#include <stdexcept>

namespace voltpile::llm {

void UploadBlock::begin(std::size_t bytes) {
    if (host_.size() < bytes) {
        host_.resize(2 * bytes);
        memory_.reset();  // frees the old block before allocating
        memory_ = ops_.allocate(host_.size());
    }
    at_ = filled_ = 0;
}

const void* UploadBlock::add_bytes(std::span<const std::byte> values, std::size_t room) {
    if (at_ + room > host_.size()) throw std::logic_error("upload block overflow");
    std::ranges::copy(values, host_.begin() + static_cast<std::ptrdiff_t>(at_));
    if (!values.empty()) filled_ = at_ + values.size();
    const void* place = static_cast<const std::byte*>(memory_->data()) + at_;
    at_ += room;
    return place;
}

void UploadBlock::send() {
    ops_.upload(memory_->data(), host_.data(), filled_);
}

}  // namespace voltpile::llm
