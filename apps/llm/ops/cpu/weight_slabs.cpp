#include "llm/ops/cpu/weight_slabs.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"

namespace voltpile::llm {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t large_page = std::size_t{2} << 20;
constexpr std::size_t slab_bytes = std::size_t{64} << 20;

std::size_t rounded(std::size_t bytes, std::size_t to) {
    return (bytes + to - 1) / to * to;
}

}  // namespace

std::shared_ptr<std::byte> WeightSlabs::allocate(std::size_t bytes) {
    if (slab_ == nullptr || size_ - used_ < bytes) {
        const std::size_t size = rounded(std::max(bytes, slab_bytes), large_page);
        void* const memory = std::aligned_alloc(large_page, size);
        if (memory == nullptr) throw DeviceError(fmt::format("no memory for {} bytes of weights", size));
        ::madvise(memory, size, MADV_HUGEPAGE);  // only a hint
        slab_.reset(static_cast<std::byte*>(memory), std::free);
        size_ = size;
        used_ = 0;
    }
    std::shared_ptr<std::byte> piece(slab_, slab_.get() + used_);
    used_ = std::min(size_, rounded(used_ + bytes, line));
    return piece;
}

}  // namespace voltpile::llm
