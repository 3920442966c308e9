#include "device/slab_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"

namespace voltpile {
namespace {

std::size_t rounded(std::size_t bytes) {
    return (bytes + SlabMemory::alignment - 1) / SlabMemory::alignment * SlabMemory::alignment;
}

}  // namespace

// One allocation with its free ranges: offset and bytes, all multiples of the alignment, no two adjacent.
class SlabMemory::Slab {
  public:
    Slab(const Allocate& allocate, Release release, std::size_t bytes)
        : release_(std::move(release)), data_(static_cast<std::byte*>(allocate(bytes))) {
        free_[0] = bytes;
    }
    ~Slab() { release_(data_); }
    Slab(const Slab&) = delete;
    Slab& operator=(const Slab&) = delete;

    // Returns the bytes of the smallest free range that is large enough, or 0.
    std::size_t best_room(std::size_t bytes) const {
        std::size_t best = 0;
        for (const auto& [offset, room] : free_)
            if (room >= bytes && (best == 0 || room < best)) best = room;
        return best;
    }
    // room: the result of best_room().
    std::byte* take(std::size_t bytes, std::size_t room) {
        const auto range = std::ranges::find(free_, room, [](const auto& each) { return each.second; });
        const std::size_t offset = range->first;
        free_.erase(range);
        if (room > bytes) free_[offset + bytes] = room - bytes;
        return data_ + offset;
    }
    void put_back(const std::byte* piece, std::size_t bytes) {
        auto range = free_.emplace(static_cast<std::size_t>(piece - data_), bytes).first;
        if (const auto next = std::next(range);
            next != free_.end() && range->first + range->second == next->first) {
            range->second += next->second;
            free_.erase(next);
        }
        if (range == free_.begin()) return;
        const auto previous = std::prev(range);
        if (previous->first + previous->second != range->first) return;
        previous->second += range->second;
        free_.erase(range);
    }

  private:
    Release release_;
    std::byte* data_;
    std::map<std::size_t, std::size_t> free_;
};

SlabMemory::Piece::Piece(std::shared_ptr<Slab> slab, std::byte* data, std::size_t bytes)
    : slab_(std::move(slab)), data_(data), bytes_(bytes) {}

SlabMemory::Piece::~Piece() {
    if (slab_) slab_->put_back(data_, rounded(bytes_));
}

SlabMemory::Piece::Piece(Piece&& other) noexcept
    : slab_(std::move(other.slab_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SlabMemory::Piece& SlabMemory::Piece::operator=(Piece&& other) noexcept {
    std::swap(slab_, other.slab_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

SlabMemory::SlabMemory(std::size_t slab_bytes, Allocate allocate, Release release)
    : slab_bytes_(rounded(slab_bytes)), allocate_(std::move(allocate)), release_(std::move(release)) {}

SlabMemory::Piece SlabMemory::allocate(std::size_t bytes) {
    if (bytes == 0) return {};
    if (bytes > std::numeric_limits<std::size_t>::max() - alignment)
        throw DeviceError(fmt::format("{} bytes are more than any memory has", bytes));
    const std::size_t size = rounded(bytes);
    std::erase_if(slabs_, [](const auto& each) { return each.expired(); });
    std::shared_ptr<Slab> slab;
    std::size_t room = 0;
    for (const auto& each : slabs_) {
        auto held = each.lock();
        const std::size_t best = held->best_room(size);
        if (best == 0 || (slab && best >= room)) continue;
        slab = std::move(held);
        room = best;
    }
    if (!slab) {
        const std::size_t expected = rounded(std::exchange(expected_, 0));
        const bool alone = expected < size && size > slab_bytes_ / 2;
        room = alone ? size : expected >= size ? expected : slab_bytes_;
        slab = std::make_shared<Slab>(allocate_, release_, room);
        if (!alone) slabs_.push_back(slab);
    }
    std::byte* const data = slab->take(size, room);
    return {std::move(slab), data, bytes};
}

}  // namespace voltpile
