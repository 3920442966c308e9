// The element types and operations of collectives.
#pragma once

#include <cstdint>

namespace voltpile {

enum class ElementType : int { Byte, Int32, Float16, Float32, Float64 };  // Byte: only moves data
enum class Reduction : int { Sum, Max };  // Max: unspecified if one value is NaN
enum class Collective : int { AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast };
constexpr int collective_count = 5;

constexpr std::int64_t size_of(ElementType type) {
    constexpr std::int64_t sizes[] = {1, 4, 2, 4, 8};
    return sizes[static_cast<int>(type)];
}

// Whether the size of a call is that of one rank's part, of which its memory has one for each rank.
constexpr bool counts_parts(Collective collective) {
    return collective != Collective::AllReduce && collective != Collective::Broadcast;
}

constexpr const char* name_of(Collective collective) {
    constexpr const char* names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"};
    return names[static_cast<int>(collective)];
}

}  // namespace voltpile
