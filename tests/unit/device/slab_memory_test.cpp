// Tests SlabMemory with an allocator that counts, instead of a GPU's.
#include "device/slab_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "base/error.h"

namespace voltpile {
namespace {

constexpr std::size_t slab_bytes = 1 << 20;

// Returns ranges of addresses that are never dereferenced.
class CountedMemory {
  public:
    SlabMemory::Allocate allocate() {
        return [this](std::size_t bytes) -> void* {
            if (bytes > left_) throw DeviceError("nothing left");
            left_ -= bytes;
            next_ += slab_bytes * 4;
            held_[next_] = bytes;
            return reinterpret_cast<void*>(next_);
        };
    }
    SlabMemory::Release release() {
        return [this](void* memory) {
            const auto held = held_.find(reinterpret_cast<std::uintptr_t>(memory));
            ASSERT_NE(held, held_.end()) << "released twice, or never given out";
            left_ += held->second;
            held_.erase(held);
        };
    }
    SlabMemory slabs() { return SlabMemory(slab_bytes, allocate(), release()); }
    std::size_t allocations() const { return held_.size(); }
    std::size_t bytes() const {
        std::size_t sum = 0;
        for (const auto& each : held_) sum += each.second;
        return sum;
    }
    bool holds(const void* data, std::size_t bytes) const {
        const auto begin = reinterpret_cast<std::uintptr_t>(data);
        const auto after = held_.upper_bound(begin);
        if (after == held_.begin()) return false;
        const auto& [address, size] = *std::prev(after);
        return begin + bytes <= address + size;
    }
    void set_left(std::size_t bytes) { left_ = bytes; }

  private:
    std::uintptr_t next_ = 1 << 24;
    std::size_t left_ = std::size_t{1} << 40;
    std::map<std::uintptr_t, std::size_t> held_;
};

TEST(SlabMemory, PutsPiecesInOneAllocation) {
    CountedMemory memory;
    SlabMemory slabs = memory.slabs();
    std::vector<SlabMemory::Piece> pieces;
    for (int i = 0; i < 4; ++i) pieces.push_back(slabs.allocate(slab_bytes / 4));
    EXPECT_EQ(memory.allocations(), 1U);
    pieces.push_back(slabs.allocate(1));
    EXPECT_EQ(memory.allocations(), 2U);
    EXPECT_EQ(memory.bytes(), 2 * slab_bytes);
}

TEST(SlabMemory, GivesLargePiecesAnAllocationOfTheirOwn) {
    CountedMemory memory;
    SlabMemory slabs = memory.slabs();
    const auto half = slabs.allocate(slab_bytes / 2);
    const auto large = slabs.allocate(slab_bytes / 2 + 1);
    EXPECT_EQ(large.bytes(), slab_bytes / 2 + 1);
    EXPECT_EQ(memory.bytes(), slab_bytes + slab_bytes / 2 + SlabMemory::alignment);
    const auto huge = slabs.allocate(3 * slab_bytes);
    EXPECT_EQ(memory.allocations(), 3U);
    const auto other_half =
        slabs.allocate(slab_bytes / 2);  // beside the first, not in what is left of `large`
    EXPECT_EQ(memory.allocations(), 3U);
}

// The expected bytes come from one allocation, however large its pieces; later slabs have the usual size.
TEST(SlabMemory, AllocatesTheExpectedBytesAtOnce) {
    CountedMemory memory;
    SlabMemory slabs = memory.slabs();
    constexpr std::size_t each = slab_bytes / 3 * 2 / SlabMemory::alignment * SlabMemory::alignment;
    slabs.expect(5 * each);
    std::vector<SlabMemory::Piece> pieces;
    for (int i = 0; i < 5; ++i) pieces.push_back(slabs.allocate(each));
    EXPECT_EQ(memory.allocations(), 1U);
    EXPECT_EQ(memory.bytes(), 5 * each);
    pieces.push_back(slabs.allocate(1));
    EXPECT_EQ(memory.bytes(), 5 * each + slab_bytes);
    slabs.expect(each);  // too little
    pieces.push_back(slabs.allocate(2 * each));
    EXPECT_EQ(memory.bytes(), 7 * each + slab_bytes);
}

TEST(SlabMemory, ReleasesASlabWithItsLastPiece) {
    CountedMemory memory;
    SlabMemory::Piece last;
    EXPECT_EQ(last.data(), nullptr);
    {
        SlabMemory slabs = memory.slabs();
        auto first = slabs.allocate(1000);
        auto moved = std::move(first);
        EXPECT_EQ(first.data(), nullptr);
        last = slabs.allocate(1000);
        moved = slabs.allocate(3 * slab_bytes);
        first = {};
    }
    EXPECT_EQ(memory.allocations(), 1U);  // what outlives its SlabMemory stays
    last = {};
    EXPECT_EQ(memory.allocations(), 0U);
}

TEST(SlabMemory, AllocatesNothingForZeroBytesAndPropagatesErrors) {
    CountedMemory memory;
    SlabMemory slabs = memory.slabs();
    const auto none = slabs.allocate(0);
    EXPECT_EQ(none.data(), nullptr);
    EXPECT_EQ(memory.allocations(), 0U);
    EXPECT_THROW(slabs.allocate(std::numeric_limits<std::size_t>::max() - 1), DeviceError);
    memory.set_left(slab_bytes);
    const auto some = slabs.allocate(100);
    EXPECT_THROW(slabs.allocate(slab_bytes), DeviceError);
    const auto more = slabs.allocate(100);  // as before
    EXPECT_EQ(memory.allocations(), 1U);
}

// SlabMemory reuses free room in the middle and merges free neighbors.
TEST(SlabMemory, MergesFreeNeighbors) {
    CountedMemory memory;
    SlabMemory slabs = memory.slabs();
    std::vector<SlabMemory::Piece> eighths;
    for (int i = 0; i < 8; ++i) eighths.push_back(slabs.allocate(slab_bytes / 8));
    std::byte* const third = eighths[2].data();
    for (const std::size_t i : {2U, 4U, 3U}) eighths[i] = {};  // the last one between free ones
    const auto joined = slabs.allocate(3 * slab_bytes / 8);
    EXPECT_EQ(joined.data(), third);
    EXPECT_EQ(memory.allocations(), 1U);
}

// SlabMemory takes the smallest gap that is large enough, so that large gaps remain.
TEST(SlabMemory, FillsTheSmallestGap) {
    CountedMemory memory;
    SlabMemory slabs = memory.slabs();
    std::vector<SlabMemory::Piece> pieces;
    for (const std::size_t eighths : {2U, 1U, 1U, 1U, 3U})
        pieces.push_back(slabs.allocate(eighths * slab_bytes / 8));
    std::byte* const small = pieces[2].data();
    pieces[0] = {};
    pieces[2] = {};
    const auto filled = slabs.allocate(slab_bytes / 8);
    EXPECT_EQ(filled.data(), small);
}

// Thousands of allocations and releases in a random order: no two pieces overlap, all are aligned and within
// what was allocated, and nothing is left at the end.
TEST(SlabMemory, NeverOverlapsPieces) {
    CountedMemory memory;
    SlabMemory slabs = memory.slabs();
    std::mt19937 random(7);
    std::vector<SlabMemory::Piece> pieces;
    for (int round = 0; round < 4000; ++round) {
        if (pieces.size() > 100 || (random() % 3 == 0 && !pieces.empty())) {
            std::swap(pieces[random() % pieces.size()], pieces.back());
            pieces.pop_back();
        } else {
            const std::size_t most = random() % 8 == 0 ? slab_bytes : slab_bytes / 16;
            pieces.push_back(slabs.allocate(1 + random() % most));
        }
        if (round % 100 != 0) continue;
        std::vector<std::pair<std::byte*, std::byte*>> ranges;
        for (const auto& piece : pieces) {
            EXPECT_TRUE(memory.holds(piece.data(), piece.bytes()));
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece.data()) % SlabMemory::alignment, 0U);
            ranges.emplace_back(piece.data(), piece.data() + piece.bytes());
        }
        std::ranges::sort(ranges);
        for (std::size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first);
    }
    pieces.clear();
    EXPECT_EQ(memory.allocations(), 0U);
}

}  // namespace
}  // namespace voltpile
