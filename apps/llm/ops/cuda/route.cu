// The router of a mixture of experts: logits, the choice of experts, and the pairs of rows and experts sorted
// by expert.
#include "llm/ops/cuda/async_copy.cuh"
#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/expert_choice.cuh"
#include "llm/ops/cuda/experts.h"
#include "llm/ops/cuda/norm_row.cuh"
#include "llm/ops/cuda/unit_words.cuh"
#include "llm/ops/cuda/warp_sum.cuh"

namespace voltpile::llm {

namespace {

constexpr int logit_warps = 4, logit_threads = 32 * logit_warps;
constexpr int sort_warps = 8;
constexpr int few_rows = 4;  // one kernel does everything for them
static_assert(few_rows <= matvec_rows, "products that choose experts have a warp for each row and some left");
constexpr int one_block_rows = 8;  // one block chooses and sorts for them

template <int width>
__device__ void load_floats(const float* from, float (&to)[width]) {
    if constexpr (width == 4) {
        const float4 v = *reinterpret_cast<const float4*>(from);
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    } else {
        to[0] = *from;
    }
}
template <int width>
__device__ void load_halves(const __half* from, float (&to)[width]) {
    if constexpr (width == 4) {
        const uint2 v = *reinterpret_cast<const uint2*>(from);
        const float2 low = floats_of(v.x), high = floats_of(v.y);
        to[0] = low.x, to[1] = low.y, to[2] = high.x, to[3] = high.y;
    } else {
        to[0] = __half2float(*from);
    }
}

// Row e of the router's matrix, behind whose last one is the gate of the shared expert.
__device__ const float* router_row(const float* weight, const float* shared_gate, int experts, int e,
                                   int columns) {
    return e < experts ? weight + static_cast<std::int64_t>(e) * columns : shared_gate;
}

// logits[r, e] = sum_c x[r, c] * weight[e, c], by a block for E experts and R rows. from, of_row: its rows of
// the matrix and of x. The order of a sum depends on the number of columns alone.
template <int width, int E, int R>
__device__ __forceinline__ void store_logits(const float* const (&from)[E], const __half* const (&of_row)[R],
                                             int outputs, int columns, int rows, float* logits) {
    __shared__ float part[logit_warps][E * R];
    const int first = static_cast<int>(blockIdx.x) * E, first_row = static_cast<int>(blockIdx.y) * R;
    float sum[E * R] = {};
#pragma unroll(E <= 2 ? 4 : 1)
    for (int c = static_cast<int>(threadIdx.x) * width; c < columns; c += logit_threads * width) {
        float w[E][width];
#pragma unroll
        for (int e = 0; e < E; ++e) load_floats(from[e] + c, w[e]);
#pragma unroll
        for (int r = 0; r < R; ++r) {
            float v[width];
            load_halves(of_row[r] + c, v);
#pragma unroll
            for (int e = 0; e < E; ++e) {
#pragma unroll
                for (int i = 0; i < width; ++i) sum[e * R + r] = fmaf(v[i], w[e][i], sum[e * R + r]);
            }
        }
    }
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    constexpr int lanes = 32 / (E * R);
    const float total = sum_over_warp(sum, lane);
    if (lane % lanes == 0) part[warp][lane / lanes] = total;
    __syncthreads();
    const int t = static_cast<int>(threadIdx.x), e = first + t / R, r = first_row + t % R;
    if (t >= E * R || e >= outputs || r >= rows) return;
    float all = 0;
#pragma unroll
    for (int w = 0; w < logit_warps; ++w) all += part[w][t];
    logits[static_cast<std::int64_t>(r) * outputs + e] = all;
}
template <int width, int E, int R>
__device__ void logits_of_block(const __half* x, const float* weight, const float* shared_gate, int experts,
                                int outputs, int columns, int rows, float* logits) {
    const float* from[E];
    const __half* of_row[R];
#pragma unroll
    for (int e = 0; e < E; ++e)
        from[e] = router_row(weight, shared_gate, experts,
                             min(static_cast<int>(blockIdx.x) * E + e, outputs - 1), columns);
#pragma unroll
    for (int r = 0; r < R; ++r)
        of_row[r] =
            x + static_cast<std::int64_t>(min(static_cast<int>(blockIdx.y) * R + r, rows - 1)) * columns;
    store_logits<width, E, R>(from, of_row, outputs, columns, rows, logits);
}
// Brings the block's rows of the matrix to the L2 cache, unless another block does for other rows of x.
template <int E>
__device__ void fetch_router_rows(const float* weight, const float* shared_gate, int experts, int outputs,
                                  int columns) {
    if (blockIdx.y > 0) return;
    constexpr int line = 128 / sizeof(float);
    const int e = min(static_cast<int>(blockIdx.x) * E + static_cast<int>(threadIdx.x) % E, outputs - 1);
    const float* const row = router_row(weight, shared_gate, experts, e, columns);
    for (int c = static_cast<int>(threadIdx.x) / E * line; c < columns; c += logit_threads / E * line)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(row + c));
}
template <int width, int E, int R>
__global__ void __launch_bounds__(logit_threads)
    router_logits(const __half* x, const float* weight, const float* shared_gate, int experts, int outputs,
                  int columns, int rows, float* logits) {
    let_next_kernel_begin();
    fetch_router_rows<E>(weight, shared_gate, experts, outputs, columns);
    wait_for_earlier_kernels();
    logits_of_block<width, E, R>(x, weight, shared_gate, experts, outputs, columns, rows, logits);
}

// What a warp counts among pairs: those of lower experts, and those of the expert.
struct PairCounts {
    int lower = 0, same = 0;
};
__device__ PairCounts count_pairs(const std::int32_t* expert, int e, int begin, int end) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    PairCounts counts;
    for (int i = begin; i < end; i += 32) {
        const int of = i + lane < end ? expert[i + lane] : -1;
        counts.lower += __popc(__ballot_sync(0xffffffffu, of >= 0 && of < e));
        counts.same += __popc(__ballot_sync(0xffffffffu, of == e));
    }
    return counts;
}
// Gives the expert's pairs, in their order, the places from `at` on.
__device__ void place_pairs(const Routing& to, int e, int begin, int end, int at) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int i = begin; i < end; i += 32) {
        const bool mine = i + lane < end && to.expert[i + lane] == e;
        const unsigned all = __ballot_sync(0xffffffffu, mine);
        if (mine) {
            const int place = at + __popc(all & ((1u << lane) - 1));
            to.place[i + lane] = place;
            to.row[place] = (i + lane) / to.used;
        }
        at += __popc(all);
    }
}

// A warp for each row.
template <int each>
__global__ void __launch_bounds__(128) choose_experts(const float* logits, int outputs, RouterSettings s,
                                                      const std::int32_t* sequence, int rows, Routing to) {
    begin_after_earlier_kernels();
    const int row = static_cast<int>(blockIdx.x) * 4 + static_cast<int>(threadIdx.x) / 32;
    if (row >= rows) return;
    choose_of_row<each>(logits + static_cast<std::int64_t>(row) * outputs, s, sequence[row] < 0, row, to);
}

// A block for each expert; each of its warps has a part of the pairs.
__global__ void __launch_bounds__(32 * sort_warps) sort_pairs(Routing to, int pairs) {
    __shared__ int lower[sort_warps], same[sort_warps];
    begin_after_earlier_kernels();
    const int e = static_cast<int>(blockIdx.x), warp = static_cast<int>(threadIdx.x) / 32;
    const int each = (pairs + 32 * sort_warps - 1) / (32 * sort_warps) * 32;
    const int begin = min(warp * each, pairs), end = min(begin + each, pairs);
    const PairCounts counts = count_pairs(to.expert, e, begin, end);
    lower[warp] = counts.lower;
    same[warp] = counts.same;
    __syncthreads();
    int first = 0, before = 0, all = 0;
#pragma unroll
    for (int w = 0; w < sort_warps; ++w) {
        first += lower[w];
        all += same[w];
        if (w < warp) before += same[w];
    }
    if (threadIdx.x == 0) {
        to.begin[e] = first;
        if (e == to.experts - 1) to.begin[e + 1] = first + all;
    }
    place_pairs(to, e, begin, end, first + before);
}

// What a block that chooses and sorts for at most `most_rows` rows has in shared memory. each: the number of
// experts is at most 32 * each.
template <int each, int most_rows>
struct SortedRows {
    static_assert(most_rows < 32);
    unsigned rows_of[32 * each];  // bit r: row r uses the expert
    int begin[32 * each];
    int expert[32 * most_rows];  // of pairs: a row uses at most 32 experts

    // All threads of the block call it, before a barrier.
    __device__ void clear(int experts) {
        for (int e = static_cast<int>(threadIdx.x); e < experts; e += static_cast<int>(blockDim.x))
            rows_of[e] = 0;
    }
    // Returns how many rows below `row` use the expert.
    __device__ int users_before(int row, int e) const { return __popc(rows_of[e] & ((1u << row) - 1)); }
};

// One block chooses and sorts. `shared` has been cleared, and a barrier has followed.
template <int each, int most_rows>
__device__ void choose_and_sort(const float* logits, int outputs, const RouterSettings& s,
                                const std::int32_t* sequence, int rows, const Routing& to,
                                SortedRows<each, most_rows>& shared) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int threads = static_cast<int>(blockDim.x);
    for (int row = warp; row < rows; row += threads / 32) {
        const int mine = choose_of_row<each>(logits + static_cast<std::int64_t>(row) * outputs, s,
                                             sequence[row] < 0, row, to);
        if (lane < s.used) {
            shared.expert[row * s.used + lane] = mine;
            if (mine >= 0) atomicOr(&shared.rows_of[mine], 1u << row);
        }
    }
    __syncthreads();
    if (warp == 0) {
        int all = 0;  // of the experts lane * each + i
        for (int i = 0; i < each; ++i) {
            const int e = lane * each + i;
            if (e < to.experts) all += shared.users_before(most_rows, e);
        }
        int until = all;
#pragma unroll
        for (int offset = 1; offset < 32; offset *= 2) {
            const int other = __shfl_up_sync(0xffffffffu, until, offset);
            if (lane >= offset) until += other;
        }
        int before = until - all;
        for (int i = 0; i < each; ++i) {
            const int e = lane * each + i;
            if (e >= to.experts) break;
            shared.begin[e] = to.begin[e] = before;
            before += shared.users_before(most_rows, e);
        }
        if (lane == 31) to.begin[to.experts] = until;
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < rows * s.used; i += threads) {
        const int e = shared.expert[i], row = i / s.used;
        if (e < 0) continue;
        const int place = shared.begin[e] + shared.users_before(row, e);
        to.place[i] = place;
        to.row[place] = row;
    }
}

template <int each>
__global__ void __launch_bounds__(32 * one_block_rows)
    choose_and_sort_rows(const float* logits, int outputs, RouterSettings s, const std::int32_t* sequence,
                         int rows, Routing to) {
    __shared__ SortedRows<each, one_block_rows> shared;
    let_next_kernel_begin();
    shared.clear(to.experts);
    __syncthreads();
    wait_for_earlier_kernels();
    choose_and_sort<each>(logits, outputs, s, sequence, rows, to, shared);
}

// A thread has `width` columns.
template <int width>
__global__ void __launch_bounds__(256) sum_pairs(const float* products, const float* bias, int bias_stride,
                                                 Routing routing, int columns, float* out, int out_columns) {
    begin_after_earlier_kernels();
    const int c = (static_cast<int>(blockIdx.y) * 256 + static_cast<int>(threadIdx.x)) * width;
    const int row = static_cast<int>(blockIdx.x);
    if (c >= columns) return;
    float* const to = out + static_cast<std::int64_t>(row) * out_columns + c;
    float sum[width] = {};
    if (routing.shared != nullptr) {
        load_floats(to, sum);
#pragma unroll
        for (float& each : sum) each *= routing.shared[row];
    }
    constexpr int pairs = 4;  // loaded together, so that their latencies overlap
    const int end = (row + 1) * routing.used;
    for (int first = row * routing.used; first < end; first += pairs) {
        int expert[pairs], place[pairs];
        float weight[pairs], v[pairs][width];
#pragma unroll
        for (int p = 0; p < pairs; ++p) {
            const int k = min(first + p, end - 1);
            expert[p] = first + p < end ? routing.expert[k] : -1;
            place[p] = routing.place[k];
            weight[p] = routing.weight[k];
        }
#pragma unroll
        for (int p = 0; p < pairs; ++p)
            if (expert[p] >= 0)
                load_floats(products + static_cast<std::int64_t>(place[p]) * columns + c, v[p]);
#pragma unroll
        for (int p = 0; p < pairs; ++p) {
            if (expert[p] < 0) continue;
            if (bias != nullptr) {
                float b[width];
                load_floats(bias + static_cast<std::int64_t>(expert[p]) * bias_stride + c, b);
#pragma unroll
                for (int i = 0; i < width; ++i) v[p][i] += b[i];
            }
#pragma unroll
            for (int i = 0; i < width; ++i) sum[i] = fmaf(weight[p], v[p][i], sum[i]);
        }
    }
    if (routing.adds) {
        float former[width];
        load_floats(to, former);
#pragma unroll
        for (int i = 0; i < width; ++i) sum[i] = former[i] + sum[i];
    }
#pragma unroll
    for (int i = 0; i < width; ++i) to[i] = sum[i];
}

// Adds 1 to a counter of all blocks after this thread's earlier writes, and returns what it was. Later reads,
// also of other threads behind a barrier, see what others wrote before they added.
__device__ __forceinline__ int add_after_all(int* counter) {
    int before;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
}

// What a block of route_rows() with a norm has in shared memory: its row of the matrix, and of x.
constexpr int normed_route_bytes(int columns) {
    return columns * static_cast<int>(sizeof(float) + sizeof(__half));
}
constexpr int most_normed_route_bytes = 46 * 1024;  // of a kernel without an attribute

// Logits of a row and expert behind the norm of the row, which every block computes.
__device__ void normed_logits(const NormArgs& norm, const RouterSettings& s, int outputs, int columns,
                              int rows, float* logits) {
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ float sums[32];
    auto* const weight = reinterpret_cast<float*>(shared);
    auto* const x = reinterpret_cast<__half*>(weight + columns);
    const float* const from =
        router_row(s.weight, s.shared_gate, s.experts, static_cast<int>(blockIdx.x), columns);
    for (int i = static_cast<int>(threadIdx.x) * 4; i < columns; i += logit_threads * 4) {
        if constexpr (copies_run_alone)
            copy_alone(weight + i, from + i, true);
        else
            *reinterpret_cast<float4*>(weight + i) = *reinterpret_cast<const float4*>(from + i);
    }
    const RowNorm of_row(norm, columns);
    begin_after_earlier_kernels();
    of_row.run(norm, static_cast<int>(blockIdx.y), false, blockIdx.x == 0, sums, x);
    wait_for_copies();
    __syncthreads();
    const float* const rows_of_matrix[] = {weight};
    const __half* const rows_of_x[] = {x};
    store_logits<4, 1, 1>(rows_of_matrix, rows_of_x, outputs, columns, rows, logits);
}

__global__ void __launch_bounds__(logit_threads)
    logits_behind_norm(NormArgs norm, RouterSettings s, int columns, int rows, float* logits) {
    normed_logits(norm, s, s.experts, columns, rows, logits);
}

// All of it for few rows: the block that comes last chooses and sorts. counter: 0; the kernel leaves 0.
// normed: `norm` computes the rows, and x is not used.
template <int width, int each, bool normed>
__global__ void __launch_bounds__(logit_threads)
    route_rows(const __half* x, NormArgs norm, RouterSettings s, const std::int32_t* sequence, int outputs,
               int columns, int rows, Routing to, float* logits, int* counter) {
    __shared__ SortedRows<each, few_rows> sorted;
    __shared__ bool comes_last;
    sorted.clear(to.experts);
    if constexpr (normed) {
        normed_logits(norm, s, outputs, columns, rows, logits);
    } else {
        begin_after_earlier_kernels();
        logits_of_block<width, 1, 1>(x, s.weight, s.shared_gate, s.experts, outputs, columns, rows, logits);
    }
    if (threadIdx.x == 0) {  // which has written the block's logit
        comes_last = add_after_all(counter) == static_cast<int>(gridDim.x * gridDim.y) - 1;
        if (comes_last) *counter = 0;
    }
    __syncthreads();
    if (!comes_last) return;
    choose_and_sort<each>(logits, outputs, s, sequence, rows, to, sorted);
}

// Calls `call` with the number of experts of a lane as a compile-time constant.
template <class Call>
void with_experts(int experts, const Call& call) {
    if (experts <= 128) return call(std::integral_constant<int, 4>());
    if (experts <= 512) return call(std::integral_constant<int, 16>());
    call(std::integral_constant<int, 32>());
}

template <int width>
void route(const __half* x, const NormArgs& norm, int rows, int columns, const RouterSettings& s,
           const BatchView& batch, const Routing& to, const AdapterArgs* adapters, float* logits,
           int* counter, const Stream& stream) {
    const int outputs = s.experts + (to.shared != nullptr && s.shared_gate != nullptr ? 1 : 0);
    if (rows <= few_rows && adapters == nullptr)
        return with_experts(s.experts, [&](auto each) {
            const bool normed = norm.x != nullptr;
            const std::size_t bytes = normed ? normed_route_bytes(columns) : 0;
            launch_early("router",
                         normed ? route_rows<4, each.value, true> : route_rows<width, each.value, false>,
                         {outputs, logit_threads, bytes, rows}, stream, x, norm, s, batch.sequence, outputs,
                         columns, rows, to, logits, counter);
        });
    const auto logits_by = [&](auto kernel, int experts_each) {
        launch_early("router", kernel,
                     {(outputs + experts_each - 1) / experts_each, logit_threads, 0, (rows + 7) / 8}, stream,
                     x, s.weight, s.shared_gate, s.experts, outputs, columns, rows, logits);
    };
    rows <= 64 ? logits_by(router_logits<width, 2, 8>, 2) : logits_by(router_logits<width, 4, 8>, 4);
    if (adapters != nullptr) {
        AdapterArgs args = *adapters;
        args.out = logits;
        args.out_columns = outputs;
        launch_add_adapters(args, true, stream);
    }
    if (rows <= one_block_rows)
        return with_experts(s.experts, [&](auto each) {
            launch_early("choice of experts", choose_and_sort_rows<each.value>, {1, 32 * one_block_rows},
                         stream, logits, outputs, s, batch.sequence, rows, to);
        });
    with_experts(s.experts, [&](auto each) {
        launch_early("choice of experts", choose_experts<each.value>, {(rows + 3) / 4, 128}, stream, logits,
                     outputs, s, batch.sequence, rows, to);
    });
    launch_early("sorting by expert", sort_pairs, {to.experts, 32 * sort_warps}, stream, to, rows * s.used);
}

}  // namespace

void launch_route(const void* x, const NormArgs& norm, int rows, int columns, const RouterSettings& settings,
                  const BatchView& batch, const Routing& to, const AdapterArgs* adapters, float* logits,
                  int* counter, const Stream& stream) {
    const auto run = columns % 4 == 0 ? route<4> : route<1>;
    run(static_cast<const __half*>(x), norm, rows, columns, settings, batch, to, adapters, logits, counter,
        stream);
}
void launch_router_logits(const NormArgs& norm, int rows, int columns, const RouterSettings& settings,
                          float* logits, const Stream& stream) {
    const auto bytes = static_cast<std::size_t>(normed_route_bytes(columns));
    launch_early("router", logits_behind_norm, {settings.experts, logit_threads, bytes, rows}, stream, norm,
                 settings, columns, rows, logits);
}
bool chooses_in_product(int experts) {
    return device_launches_early() && experts <= most_chosen_in_product;
}
bool router_takes_norm(int rows, int columns) {
    return rows <= few_rows && columns % 32 == 0 && normed_route_bytes(columns) <= most_normed_route_bytes;
}

void launch_sum_pairs(const float* products, const float* bias, int bias_stride, const Routing& routing,
                      int rows, int columns, float* out, int out_columns, const Stream& stream) {
    const bool wide = columns % 4 == 0 && out_columns % 4 == 0;
    const int each = wide ? 1024 : 256;
    launch_early("sum over experts", wide ? sum_pairs<4> : sum_pairs<1>,
                 {rows, 256, 0, (columns + each - 1) / each}, stream, products, bias, bias_stride, routing,
                 columns, out, out_columns);
}

}  // namespace voltpile::llm
