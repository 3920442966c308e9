// The items of products with adapters' factors: the rows of a batch, in the order of their adapters, or the
// sorted pairs of rows and experts. A tile has neighbors.
#pragma once

#include "llm/ops/cuda/adapters.h"
#include "llm/ops/cuda/early_launch.cuh"

namespace voltpile::llm {

constexpr int no_factors = -1, no_item = -2;

// In shared memory.
template <int tile>
struct TileItems {
    static_assert(tile <= 32);
    int factors[tile];  // index of an AdapterEntry, or one of the above
    int row[tile];      // of x
    int place[tile];    // in AdapterArgs::reduced
};

// Both set the tile's items, of which `first` is the first. The second waits for earlier kernels, which
// choose the experts. All threads of a block call it; a barrier must follow.
template <int tile>
__device__ __forceinline__ void find_items(const AdapterArgs& args, int first, TileItems<tile>& items) {
    const int at = static_cast<int>(threadIdx.x);
    if (at < tile) {
        const bool exists = first + at < args.rows;
        const int row = exists ? args.order[first + at] : 0;
        items.row[at] = items.place[at] = row;
        items.factors[at] = exists ? max(args.adapter_of[row], no_factors) : no_item;
    }
}
template <int tile>
__device__ __forceinline__ void find_items(const ExpertAdapterArgs& args, int first, TileItems<tile>& items) {
    wait_for_earlier_kernels();
    const Routing& routing = args.routing;
    const int at = static_cast<int>(threadIdx.x), begin = args.first_pair + first;
    const int pairs = min(routing.begin[routing.experts], args.first_pair + args.factors.rows);
    if (at < tile) {
        items.place[at] = first + at;
        if (begin + at >= pairs) {
            items.row[at] = 0;
            items.factors[at] = no_item;
        }
    }
    for (int e = at; e < routing.experts; e += static_cast<int>(blockDim.x)) {
        const int end = min(min(routing.begin[e + 1], begin + tile), pairs);
        for (int pair = max(routing.begin[e], begin); pair < end; ++pair) {
            const int row = routing.row[pair], adapter = args.factors.adapter_of[row];
            items.row[pair - begin] = args.x_of_pairs ? pair : row;
            items.factors[pair - begin] = adapter < 0 ? no_factors : adapter * routing.experts + e;
        }
    }
}

// Calls work(factors, items) for all factors in a tile; bit i of `items` is item i. without: also for items
// without factors.
template <bool without, int tile, class Work>
__device__ __forceinline__ void for_each_factors(const TileItems<tile>& items, const Work& work) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int mine = items.factors[lane < tile ? lane : 0];
    unsigned left = __ballot_sync(0xffffffffu, lane < tile && mine >= (without ? no_factors : 0));
    while (left != 0) {
        const int factors = __shfl_sync(0xffffffffu, mine, __ffs(static_cast<int>(left)) - 1);
        const unsigned same = left & __ballot_sync(0xffffffffu, mine == factors);
        left &= ~same;
        work(factors, same);
    }
}

}  // namespace voltpile::llm
