#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/half.cuh"
#include "llm/ops/cuda/joint_wire.cuh"
#include "llm/ops/cuda/row_parts.cuh"
#include "llm/ops/joint_sums.h"

namespace voltpile::llm {

namespace {

constexpr int joint_threads = 512;
constexpr int most_groups = 4;  // of 8 columns, in the registers of a thread
static_assert(8 * most_groups * joint_threads == most_joint_columns);

// The first of the eight columns of this thread's g-th group.
__device__ __forceinline__ int column_of(int g) {
    return 8 * static_cast<int>(threadIdx.x + g * blockDim.x);
}

// Eight consecutive numbers of a row.
struct Eight {
    float v[8];
};

__device__ __forceinline__ Eight load_eight(const float* from) {
    const float4 a = *reinterpret_cast<const float4*>(from), b = *reinterpret_cast<const float4*>(from + 4);
    return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}

__device__ __forceinline__ void store_eight(float* to, const Eight& e) {
    *reinterpret_cast<float4*>(to) = make_float4(e.v[0], e.v[1], e.v[2], e.v[3]);
    *reinterpret_cast<float4*>(to + 4) = make_float4(e.v[4], e.v[5], e.v[6], e.v[7]);
}

__device__ __forceinline__ uint4 eight_halves(const Eight& e, float factor, float limit) {
    return make_uint4(two_halves(e.v[0] * factor, e.v[1] * factor, limit),
                      two_halves(e.v[2] * factor, e.v[3] * factor, limit),
                      two_halves(e.v[4] * factor, e.v[5] * factor, limit),
                      two_halves(e.v[6] * factor, e.v[7] * factor, limit));
}

__device__ __forceinline__ void add_halves(Eight& sum, uint4 halves) {
    const unsigned words[4] = {halves.x, halves.y, halves.z, halves.w};
#pragma unroll
    for (int i = 0; i < 8; ++i)
        sum.v[i] += __half2float(__ushort_as_half(static_cast<unsigned short>(words[i / 2] >> (i % 2 * 16))));
}

// Adds what some ranks sent to a sum.
template <int N>
__device__ __forceinline__ void add_sent(Eight& sum, const uint4 (&sent)[N], int count) {
#pragma unroll
    for (int i = 0; i < N; ++i)
        if (i < count) add_halves(sum, sent[i]);
}

// Adds the sum of what the ranks sent, and the bias, to eight numbers of x, and to `squares` their squares.
__device__ __forceinline__ void join(const JointRows& m, std::int64_t at, int column, const Eight& sum,
                                     Eight& x, float& squares) {
#pragma unroll
    for (int i = 0; i < 8; ++i) x.v[i] = fmaf(sum.v[i], 1 / sent_scale, x.v[i]);
    if (m.bias != nullptr) {
        const Eight bias = load_eight(m.bias + column);
#pragma unroll
        for (int i = 0; i < 8; ++i) x.v[i] += bias.v[i];
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) squares = fmaf(x.v[i], x.v[i], squares);
    store_eight(m.x + at, x);
}

// Normalizes a row, of which each thread has G groups of columns, and passes each group's fp16 numbers to
// put(column, halves). weight_of(g, column): those of a group. A row that is not finite becomes NaN, by which
// other ranks recognize it.
template <int G, class WeightOf, class Put>
__device__ __forceinline__ void norm_row(const JointRows& m, int row, const Eight (&x)[G], float squares,
                                         float* shared, const WeightOf& weight_of, const Put& put) {
    __syncthreads();  // the sum of the previous row has been read
    const float mean = sum_over_block(squares, shared) / static_cast<float>(m.columns);
    const bool finite = isfinite(mean);
    if (threadIdx.x == 0 && !finite) trip(m.sentinel, m.place, static_cast<unsigned>(row));
    float scale = __int_as_float(0x7fffffff);  // NaN
    if (finite) scale = m.weight != nullptr ? 1.0f / sqrtf(mean + m.eps) : 1.0f;
#pragma unroll
    for (int g = 0; g < G; ++g) {
        const int column = column_of(g);
        if (column >= m.columns) continue;
        if (m.weight != nullptr) {
            const Eight weight = weight_of(g, column);
            Eight out;
#pragma unroll
            for (int i = 0; i < 8; ++i) out.v[i] = x[g].v[i] * scale * weight.v[i];
            put(column, eight_halves(out, 1, m.limit));
        } else {
            put(column, eight_halves(x[g], scale, m.limit));
        }
    }
}

// Passes each group of columns of a row of delta, as fp16, to use(column, halves).
template <int G, class Use>
__device__ __forceinline__ void halves_of_row(const JointRows& m, int row, const Use& use) {
    const float* from = m.delta + static_cast<std::int64_t>(row) * m.columns;
#pragma unroll
    for (int g = 0; g < G; ++g)
        if (column_of(g) < m.columns)
            use(column_of(g), eight_halves(load_eight(from + column_of(g)), sent_scale, m.limit));
}

// Returns of how many of N ranks a thread holds the numbers at once.
__host__ __device__ constexpr int at_once(int N, int G) {
    return N < 4 || G > 2 ? 2 : 4;
}

// Joins and normalizes a row. collect(column, first, mine, got) gets what the ranks from `first` on sent,
// put: as norm_row(). What does not depend on other ranks is loaded before their numbers arrive, if there are
// registers for it.
template <int N, int G, class Collect, class Put>
__device__ __forceinline__ void finish_row(const JointRows& m, int row, int ranks, float* shared,
                                           const Collect& collect, const Put& put) {
    constexpr bool weights_early = G == 1;
    Eight x[G], weight[weights_early ? G : 1];
    uint4 mine[G];
    const std::int64_t begin = static_cast<std::int64_t>(row) * m.columns;
#pragma unroll
    for (int g = 0; g < G; ++g) {
        if (column_of(g) >= m.columns) continue;
        x[g] = load_eight(m.x + begin + column_of(g));
        if (weights_early && m.weight != nullptr) weight[g] = load_eight(m.weight + column_of(g));
        mine[g] = eight_halves(load_eight(m.delta + begin + column_of(g)), sent_scale, m.limit);
    }
    float squares = 0;
#pragma unroll
    for (int g = 0; g < G; ++g) {
        if (column_of(g) >= m.columns) continue;
        Eight sum{};
#pragma unroll
        for (int first = 0; first < N; first += at_once(N, G)) {
            uint4 sent[at_once(N, G)];
            collect(column_of(g), first, mine[g], sent);
            add_sent(sum, sent, ranks - first);
        }
        join(m, begin + column_of(g), column_of(g), sum, x[g], squares);
    }
    norm_row(
        m, row, x, squares, shared,
        [&](int g, int column) { return weights_early ? weight[g] : load_eight(m.weight + column); }, put);
}

__device__ __forceinline__ void put_halves(char* rows, const JointRows& m, int row, int column,
                                           uint4 halves) {
    *reinterpret_cast<uint4*>(rows + (static_cast<std::int64_t>(row) * m.columns + column) * 2) = halves;
}

// One block per row, or several rows one after the other. sent: one row, of which products have sent the
// parts.
template <int N, int G, bool sent>
__global__ void __launch_bounds__(joint_threads, 1)
    joint_one_shot(const PeerView view, const JointArea area, const JointRows m) {
    __shared__ float shared[32];
    begin_after_earlier_kernels();
    ZeroWordWire wire(view, area);
    const int first = static_cast<int>(blockIdx.x), step = static_cast<int>(gridDim.x);
    const std::int64_t all = static_cast<std::int64_t>(m.rows) * m.columns;  // of a rank
    for (int row = first; row < m.rows && !sent; row += step)
        halves_of_row<G>(m, row, [&](int column, uint4 halves) {
            const std::int64_t number = static_cast<std::int64_t>(row) * m.columns + column;
#pragma unroll
            for (int p = 1; p < N; ++p)
                if (p < wire.size()) wire.push(p, 0, wire.rank() * all + number, halves);
        });
    for (int row = first; row < m.rows; row += step)
        finish_row<N, G>(
            m, row, wire.size(), shared,
            [&](int column, int from, uint4 mine, auto& got) {
                const std::int64_t number = static_cast<std::int64_t>(row) * m.columns + column;
                wire.take(sent ? wire.sent_place(m.part, from, column, m.columns)
                               : wire.place(0, from * all + number),
                          2 * all, from, wire.size() - from, mine, got);
            },
            [&](int column, uint4 halves) { put_halves(area.own, m, row, column, halves); });
    if (!sent) wire.finish();
}

// Block b of each rank works on rows b, b + blocks, ... of every rank's share.
template <int N, int G>
__global__ void __launch_bounds__(joint_threads, 1)
    joint_by_owner(const PeerView view, const JointArea area, const JointRows m) {
    __shared__ float shared[32];
    begin_after_earlier_kernels();
    ZeroWordWire wire(view, area);
    const int ranks = wire.size(), share = (m.rows + ranks - 1) / ranks;
    const int first = static_cast<int>(blockIdx.x), step = static_cast<int>(gridDim.x);
    const std::int64_t all = static_cast<std::int64_t>(share) * m.columns;  // of a rank
    for (int i = first; i < share; i += step)
#pragma unroll
        for (int p = 1; p < N; ++p) {
            const int row = wire.rank_behind(p) * share + i;
            if (p < ranks && row < m.rows)
                halves_of_row<G>(m, row, [&](int column, uint4 halves) {
                    wire.push(p, 0, wire.rank() * all + static_cast<std::int64_t>(i) * m.columns + column,
                              halves);
                });
        }
    for (int i = first; i < share; i += step) {
        const int row = wire.rank() * share + i;
        if (row >= m.rows) break;
        finish_row<N, G>(
            m, row, ranks, shared,
            [&](int column, int from, uint4 mine, auto& sent) {
                wire.take(wire.place(0, from * all + static_cast<std::int64_t>(i) * m.columns + column),
                          2 * all, from, ranks - from, mine, sent);
            },
            [&](int column, uint4 halves) {
#pragma unroll
                for (int p = 1; p < N; ++p)
                    if (p < ranks)
                        wire.push(p, 1, static_cast<std::int64_t>(row) * m.columns + column, halves);
                put_halves(area.own, m, row, column, halves);
            });
    }
    for (int i = first; i < share; i += step)
#pragma unroll
        for (int g = 0; g < G; ++g) {
            const int column = column_of(g);
            if (column >= m.columns) continue;
            const int owners = (m.rows - i + share - 1) / share;  // of rows r * share + i
#pragma unroll
            for (int from = 0; from < N; from += at_once(N, G)) {
                uint4 got[at_once(N, G)];
                wire.take(wire.place(1, from * all + static_cast<std::int64_t>(i) * m.columns + column),
                          2 * all, from, owners - from, {}, got);
#pragma unroll
                for (int k = 0; k < at_once(N, G); ++k) {
                    const int r = from + k, row = r * share + i;
                    if (r >= owners || r == wire.rank()) continue;
                    put_halves(area.own, m, row, column, got[k]);
                    if (column == 0 && __hisnan(__ushort_as_half(static_cast<unsigned short>(got[k].x))))
                        trip(m.sentinel, m.place, static_cast<unsigned>(row));
                }
            }
        }
    wire.finish();
}

// The same for many rows: what ranks send is not copied and cleared, but they wait for fences. Block b waits
// only for the same block of its peers. A peer writes outputs only after this rank has begun the same call,
// and so after the kernels here that read the earlier ones. It sends parts without waiting: the previous call
// ended only after every block here had signaled that it has read them.
template <int N, int G>
__global__ void __launch_bounds__(joint_threads, 1)
    joint_by_owner_flagged(const PeerView view, const JointArea area, const JointRows m) {
    __shared__ float shared[32];
    begin_after_earlier_kernels();
    FlaggedWire wire(view);
    const int ranks = wire.size(), share = (m.rows + ranks - 1) / ranks;
    const int first = static_cast<int>(blockIdx.x), step = static_cast<int>(gridDim.x);
    const std::int64_t row_bytes = 2ll * m.columns;
    for (int i = first; i < share; i += step)
#pragma unroll
        for (int p = 1; p < N; ++p) {
            const int row = wire.rank_behind(p) * share + i;
            char* to = area.peer[p - 1] + area.received + (wire.rank() * area.share + i) * row_bytes;
            if (p < ranks && row < m.rows)
                halves_of_row<G>(m, row, [&](int column, uint4 halves) {
                    *reinterpret_cast<uint4*>(to + 2 * column) = halves;
                });
        }
    wire.signal(0);
    wire.wait(0);
    for (int i = first; i < share; i += step) {
        const int row = wire.rank() * share + i;
        if (row >= m.rows) break;
        finish_row<N, G>(
            m, row, ranks, shared,
            [&](int column, int from, uint4 mine, auto& sent) {
                constexpr int count = sizeof sent / sizeof sent[0];
#pragma unroll
                for (int k = 0; k < count; ++k) {
                    const int r = from + k;
                    const char* at = area.own + area.received + (r * area.share + i) * row_bytes;
                    sent[k] = mine;
                    if (r < ranks && r != wire.rank())
                        sent[k] = load_volatile(reinterpret_cast<const uint4*>(at + 2 * column));
                }
            },
            [&](int column, uint4 halves) {
                put_halves(area.own, m, row, column, halves);
#pragma unroll
                for (int p = 1; p < N; ++p)
                    if (p < ranks) put_halves(area.peer[p - 1], m, row, column, halves);
            });
    }
    wire.signal(1);
    wire.wait(1);
    const int p = static_cast<int>(threadIdx.x) + 1;
    if (p < ranks)
        for (int i = first; i < share; i += step) {
            const int row = wire.rank_behind(p) * share + i;
            if (row >= m.rows) break;
            const auto* number = reinterpret_cast<const volatile unsigned short*>(area.own + row * row_bytes);
            if (__hisnan(__ushort_as_half(*number))) trip(m.sentinel, m.place, static_cast<unsigned>(row));
        }
    wire.finish(0, 0);
}

// Calls use(kernel) with the kernel for this shape.
template <int N, class Use>
void with_groups(JointWay way, int columns, const Use& use) {
    const auto chosen = [&]<int G>() {
        switch (way) {
            case JointWay::Sent:
                return use(joint_one_shot<N, G, true>);
            case JointWay::OneShot:
                return use(joint_one_shot<N, G, false>);
            case JointWay::ByOwner:
                return use(joint_by_owner<N, G>);
            case JointWay::ByOwnerFlagged:
                return use(joint_by_owner_flagged<N, G>);
        }
    };
    const int groups = (columns / 8 + joint_threads - 1) / joint_threads;
    if (groups == 1)
        chosen.template operator()<1>();
    else if (groups == 2)
        chosen.template operator()<2>();
    else
        chosen.template operator()<most_groups>();
}

template <class Use>
void with_kernel(JointWay way, int ranks, int columns, const Use& use) {
    if (ranks <= 2)
        with_groups<2>(way, columns, use);
    else if (ranks <= 4)
        with_groups<4>(way, columns, use);
    else
        with_groups<8>(way, columns, use);
}

}  // namespace

void load_joint_sums(int ranks, int columns) {
    for (const JointWay way :
         {JointWay::Sent, JointWay::OneShot, JointWay::ByOwner, JointWay::ByOwnerFlagged})
        with_kernel(way, ranks, columns, [](auto kernel) {
            cudaFuncAttributes attributes;
            cuda_check(cudaFuncGetAttributes(&attributes, kernel), "loading the kernels of joint sums");
        });
}

void launch_joint_sums(JointWay way, const PeerView& view, const JointArea& area, const JointRows& rows,
                       const Stream& stream) {
    const int each = way == JointWay::Sent || way == JointWay::OneShot
                         ? rows.rows
                         : static_cast<int>(joint_share(rows.rows, view.size));
    const LaunchShape shape{min(each, max_peer_blocks), min((rows.columns / 8 + 31) / 32 * 32, joint_threads),
                            0};
    with_kernel(way, view.size, rows.columns,
                [&](auto kernel) { launch_early("sum and norm", kernel, shape, stream, view, area, rows); });
}

}  // namespace voltpile::llm
