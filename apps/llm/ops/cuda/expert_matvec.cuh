// Matrix-vector products with experts. An item is 4 results: of a pair (gated), or of a row, summed over its
// experts. The steps of an item are chunks of columns, of gate and then up, or of one expert after the other.
// As in matvec.cuh, persistent blocks loop over sets of items, `split` warps share an item, and a lane loads
// units ahead of their use.
#pragma once

#include "llm/ops/cuda/expert_choice.cuh"
#include "llm/ops/cuda/expert_pieces.cuh"
#include "llm/ops/cuda/matvec.cuh"

namespace voltpile::llm {

// What the kernel knows of each pair of (rows, used).
struct ExpertPairs {
    // Of the expert's matrices. If the kernel chooses, the second half has those of all experts
    // (bring_shifts()).
    std::int64_t shift[2][expert_matvec_pairs];
    int place[expert_matvec_pairs];  // in the sorted order; -1: none
    int x_row[expert_matvec_pairs];
    int expert[expert_matvec_pairs];
    float weight[expert_matvec_pairs];
};

template <bool gated>
__device__ __forceinline__ void find_shifts(const ExpertArgs& args, ExpertPairs& pairs, int i) {
    const int e = pairs.expert[i];
#pragma unroll
    for (int m = 0; m < (gated ? 2 : 1); ++m) pairs.shift[m][i] = e < 0 ? 0 : shift_of(args.matrix[m], e);
}

// Loads the shifts of all experts to shared memory, where sort_chosen() reads them behind a barrier: so the
// choice needs no further access to global memory.
__device__ inline void bring_shifts(const ExpertArgs& args, ExpertPairs& pairs) {
    static_assert(2 * most_chosen_in_product <= expert_matvec_pairs);
    static_assert(matvec_rows * 32 <= most_chosen_in_product, "room for the pairs in the first half");
    const int e = static_cast<int>(threadIdx.x);
    if (e >= args.routing.experts) return;
#pragma unroll
    for (int m = 0; m < 2; ++m) pairs.shift[m][most_chosen_in_product + e] = shift_of(args.matrix[m], e);
}

// Chooses the experts of a row. One warp calls it.
__device__ inline void choose_pairs(const ExpertArgs& args, int row, ExpertPairs& pairs) {
    const ExpertChoice& choice = args.choice;
    const int lane = static_cast<int>(threadIdx.x) % 32, pair = row * args.routing.used + lane;
    const ChosenExpert chosen = chosen_of_row<most_chosen_in_product / 32>(
        choice.logits + static_cast<std::int64_t>(row) * choice.settings.experts, choice.settings,
        choice.sequence[row] < 0, args.routing.experts);
    if (lane >= args.routing.used) return;
    pairs.expert[pair] = chosen.expert;
    pairs.weight[pair] = chosen.weight;
}

// Finds the place, row and shifts of each chosen pair. All threads call it.
__device__ inline void sort_chosen(const ExpertArgs& args, ExpertPairs& pairs) {
    const int used = args.routing.used, count = args.rows * used, i = static_cast<int>(threadIdx.x);
    if (i >= count) return;
    const int e = pairs.expert[i];
    int place = 0;
    for (int other = 0; other < count; ++other) {
        const int of = pairs.expert[other];
        if (of >= 0 && (of < e || (of == e && other < i))) ++place;
    }
    pairs.place[i] = e < 0 ? -1 : place;
    pairs.x_row[i] = i / used;
#pragma unroll
    for (int m = 0; m < 2; ++m) pairs.shift[m][i] = e < 0 ? 0 : pairs.shift[m][most_chosen_in_product + e];
}

// Writes what choose_pairs() and sort_chosen() found, visible to the whole GPU behind a barrier of the block.
__device__ inline void store_routing(const Routing& to, const ExpertPairs& pairs, int count) {
    const int i = static_cast<int>(threadIdx.x);
    if (i < count) {
        to.expert[i] = pairs.expert[i];
        to.weight[i] = pairs.weight[i];
        to.place[i] = pairs.place[i];
        if (pairs.place[i] >= 0) to.row[pairs.place[i]] = pairs.x_row[i];
    }
    for (int e = i; e <= to.experts; e += matvec_threads) {
        int lower = 0;
        for (int other = 0; other < count; ++other)
            lower += pairs.expert[other] >= 0 && pairs.expert[other] < e ? 1 : 0;
        to.begin[e] = lower;
    }
    __threadfence();
}

// Reads past the L1 cache, because down products read before they wait (early_launch.cuh).
template <bool gated>
__device__ void find_pairs(const ExpertArgs& args, ExpertPairs& pairs) {
    static_assert(expert_matvec_pairs <= matvec_threads);
    const int i = static_cast<int>(threadIdx.x);
    if (i >= args.rows * args.routing.used) return;
    const int e = __ldcg(args.routing.expert + i);
    const int place = __ldcg(args.routing.place + i);
    pairs.place[i] = place;
    pairs.x_row[i] = gated ? i / args.routing.used : place;
    pairs.expert[i] = e;
    pairs.weight[i] = __ldcg(args.routing.weight + i);
    find_shifts<gated>(args, pairs, i);
}

template <WeightFormat format, bool gated, bool fused>
__global__ void __launch_bounds__(matvec_threads, matvec_blocks_per_multiprocessor)
    expert_matvec(const ExpertArgs args) {
    using Product = UnitProduct<format>;
    constexpr int depth = 2, sums = gated ? 2 : 1, values = 4 * sums;
    __shared__ ExpertPairs pairs;
    __shared__ float partial[2][matvec_warps][values];
    extern __shared__ __align__(16) std::uint8_t shared_x[];

    const Routing& routing = args.routing;
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int split = args.split, member = warp % split, slot = warp / split, slots = matvec_warps / split;
    const int columns = args.matrix[0].first.columns, outputs = args.matrix[0].first.rows;
    const int units = columns / Product::weights;
    const int chunks = (units + 31) / 32;
    const int parts = gated ? 2 : routing.used;  // of an item's steps, with `chunks` each
    const int rounds = (parts * chunks + split - 1) / split;
    const int groups = (outputs + 3) / 4;
    const int count = args.rows * (gated ? routing.used : 1);  // of pairs, or of rows
    const int items = groups * count;
    const int sets = (items + slots - 1) / slots;

    bring_grid<format>(args.matrix[0].first.format);
    // The gated product lets others begin when the routing is complete. So the other product, which comes
    // after it, knows its experts at once, and brings the first weights while the gated product still runs.
    const bool chooses = gated && begins_early && args.choice.logits != nullptr;
    constexpr bool half = x_is_halves<format>;
    const std::int64_t x_bytes = half ? columns * 2 : quantized_row_bytes(columns);
    // Quantizes x to shared memory, complete behind a barrier. The warps from first_warp on call it.
    const auto quantize = [&](int first_warp) {
        const int halves = columns / 16, all = halves * args.rows * (gated ? 1 : routing.used);
        quantize_halves(static_cast<int>(threadIdx.x) - 32 * first_warp, matvec_threads - 32 * first_warp,
                        all, false, [&](int i) {
                            const int row = i / halves;
                            return HalfPlace{
                                static_cast<const __half*>(args.x) + static_cast<std::int64_t>(i) * 16,
                                {shared_x + row * x_bytes, columns},
                                i - row * halves};
                        });
    };
    if (chooses) bring_shifts(args, pairs);
    if constexpr (gated) wait_for_earlier_kernels();
    if (chooses) {
        // Meanwhile the other warps quantize x. If they did so later, loads of x would queue behind those of
        // weights.
        static_assert(matvec_rows < matvec_threads / 32);
        if (warp < args.rows)
            choose_pairs(args, warp, pairs);
        else if (fused)
            quantize(args.rows);
        __syncthreads();
        sort_chosen(args, pairs);
    } else {
        let_next_kernel_begin();
        find_pairs<gated>(args, pairs);
    }
    __syncthreads();

    // An item: `index` is its pair or row. The same results of all rows are adjacent, because rows may share
    // experts. Those behind the last have no group.
    struct Item {
        int index, group;
    };
    const int stride = static_cast<int>(gridDim.x) * slots;  // from one set of the block to the next
    const int stride_groups = stride / count, stride_index = stride - stride_groups * count;
    const auto item_of_slot = [&](int of_slot) {
        const int item = static_cast<int>(blockIdx.x) * slots + of_slot, group = item / count;
        return Item{item - group * count, group};
    };
    const auto advance = [&](Item& item) {
        item.group += stride_groups;
        item.index += stride_index;
        if (item.index < count) return;
        item.index -= count;
        ++item.group;
    };
    // A step of this warp.
    struct Step {
        Item item;
        int set, round, part, chunk;
    };
    const int first_part = member / chunks, first_chunk = member - first_part * chunks;
    const auto next = [&](Step& at) {
        if (++at.round < rounds) {
            for (at.chunk += split; at.chunk >= chunks; at.chunk -= chunks) ++at.part;
            return;
        }
        at.round = 0;
        at.part = first_part;
        at.chunk = first_chunk;
        at.set += static_cast<int>(gridDim.x);
        advance(at.item);
    };
    const auto pair_of = [&](const Step& at) {
        return gated ? at.item.index : at.item.index * routing.used + at.part;
    };
    const auto wanted = [&](const Step& at) {
        if (at.item.group >= groups || at.part >= parts || at.chunk * 32 + lane >= units) return false;
        return pairs.place[pair_of(at)] >= 0;
    };
    const auto load = [&](const Step& at, typename Product::Raw& raw) {
        if (!wanted(at)) return;
        const int m = gated ? at.part : 0;
        raw = Product::load(shifted(args.matrix[m].first, pairs.shift[m][pair_of(at)]), at.item.group,
                            at.chunk * 32 + lane);
    };

    typename Product::Raw raw[depth];
    Step ahead{item_of_slot(slot), static_cast<int>(blockIdx.x), 0, first_part, first_chunk};
    Step at = ahead;
#pragma unroll
    for (int d = 0; d < depth; ++d, next(ahead)) load(ahead, raw[d]);
    if (chooses) {
        if (blockIdx.x == 0) {
            store_routing(routing, pairs, args.rows * routing.used);
            __syncthreads();
        }
        let_next_kernel_begin();
    }
    if constexpr (!gated) wait_for_earlier_kernels();

    const auto* x = static_cast<const std::uint8_t*>(half ? args.x : args.scratch);
    if (fused) {
        if (!chooses) {
            quantize(0);
            __syncthreads();
        }
        x = shared_x;
    }

    const auto bias_of = [&](int m, int pair, int row) {
        const float* const bias = args.matrix[m].bias;
        return bias != nullptr ? bias[static_cast<std::int64_t>(pairs.expert[pair]) * outputs + row] : 0.0f;
    };
    const auto store = [&](int index, int row, float first, float second) {
        if (row >= outputs) return;
        if (gated) {
            const int pair = pairs.place[index];
            if (pair < 0) return;
            first += bias_of(0, index, row);
            second += bias_of(1, index, row);
            if (args.added != nullptr) {
                const float* const added = args.added + static_cast<std::int64_t>(pair) * 2 * outputs + row;
                first += added[0];
                second += added[outputs];
            }
            static_cast<__half*>(args.out)[static_cast<std::int64_t>(pair) * args.out_columns + row] =
                limited_half(gated_value(args.activation, first, second), args.limit);
        } else {
            for (int k = index * routing.used;
                 args.matrix[0].bias != nullptr && k < (index + 1) * routing.used; ++k)
                if (pairs.place[k] >= 0) first = fmaf(pairs.weight[k], bias_of(0, k, row), first);
            float* const out =
                static_cast<float*>(args.out) + static_cast<std::int64_t>(index) * args.out_columns + row;
            if (routing.adds)
                add_product(out, first, nullptr, 0);
            else
                *out = routing.shared != nullptr ? fmaf(routing.shared[index], *out, first) : first;
        }
    };
    float sum[values] = {};
    // Adds what the warps of an item have, in the first threads.
    Item done = item_of_slot(static_cast<int>(threadIdx.x) / 4);
    const auto finish = [&](int parity) {
        __syncthreads();
        const int t = static_cast<int>(threadIdx.x);
        if (t >= slots * 4) return;
        const Item item = done;
        advance(done);
        if (item.group >= groups) return;
        float total[sums] = {};
#pragma unroll
        for (int p = 0; p < sums; ++p)
            total[p] = sum_of_split(&partial[parity][t / 4 * split][4 * p + t % 4], values, split);
        store(item.index, item.group * 4 + t % 4, total[0], total[sums - 1]);
    };

    int parity = 0;
    while (at.set < sets) {
#pragma unroll
        for (int d = 0; d < depth; ++d) {
            if (at.set >= sets) continue;
            if (wanted(at)) {
                const int pair = pair_of(at);
                float now[4] = {};
                Product::template add<1>(now, raw[d], x + pairs.x_row[pair] * x_bytes, columns,
                                         at.chunk * 32 + lane, 1);
                const float factor = gated ? 1.0f : pairs.weight[pair];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    if (gated && at.part > 0) {
                        sum[values - 4 + i] += now[i];
                    } else {
                        sum[i] = fmaf(factor, now[i], sum[i]);
                    }
                }
            }
            load(ahead, raw[d]);
            next(ahead);
            if (at.round + 1 == rounds) {
                constexpr int lanes = 32 / values;
                const float total = sum_over_warp(sum, lane);
#pragma unroll
                for (float& each : sum) each = 0;
                if (split == 1) {
                    const float second = __shfl_down_sync(0xffffffffu, total, 16);
                    if (at.item.group < groups && lane % lanes == 0 && lane < 4 * lanes)
                        store(at.item.index, at.item.group * 4 + lane / lanes, total, second);
                } else {
                    if (lane % lanes == 0) partial[parity][warp][lane / lanes] = total;
                    finish(parity);
                    parity ^= 1;
                }
            }
            next(at);
        }
    }
}

template <WeightFormat format>
void launch_expert_matvec_of(const ExpertArgs& args, int blocks, const Stream& stream) {
    constexpr bool quantized = !x_is_halves<format>;
    const int columns = args.matrix[0].first.columns;
    const int x_rows = args.gated ? args.rows : args.rows * args.routing.used;
    const auto shared = static_cast<std::size_t>(x_rows * quantized_row_bytes(columns));
    const auto start = [&](auto kernel, std::size_t bytes) {
        launch_early("matrix-vector product with experts", kernel, {blocks, matvec_threads, bytes}, stream,
                     args);
    };
    // Besides the pairs and a grid, in the shared memory of a kernel without an attribute.
    if (quantized && shared <= 38 * 1024 - grid_bytes<format>)
        return start(
            args.gated ? expert_matvec<format, true, quantized> : expert_matvec<format, false, quantized>,
            shared);
    if (quantized) {
        MatmulArgs rows;
        rows.matrix[0].columns = columns;
        rows.rows = x_rows;
        rows.x = args.x;
        rows.scratch = args.scratch;
        launch_quantize(rows, x_rows, stream);
    }
    start(args.gated ? expert_matvec<format, true, false> : expert_matvec<format, false, false>, 0);
}

}  // namespace voltpile::llm
