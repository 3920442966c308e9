#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/latent_block.cuh"

namespace voltpile::llm {

namespace {

constexpr int join_columns = 128;  // of a block: four of each lane

// Where a result goes, and the parts that it has. count: 1 if nothing is to be joined.
struct JoinPlace {
    int row = 0, count = 1;
};
__device__ JoinPlace join_place(const AttentionArgs& a, const LatentShare& share, int place) {
    const bool by_sequence = share.pieces > 0;
    const int sequence = by_sequence ? place / share.most_tokens : a.batch.sequence[place];
    if (sequence < 0 || sequence >= a.batch.sequences) return {};
    const int begin = a.batch.row_begin[sequence], end = a.batch.row_begin[sequence + 1];
    const int row = by_sequence ? begin + place % share.most_tokens : place;
    if (end - begin < share.least_tokens || end - begin > share.most_tokens || row >= end) return {};
    if (a.batch.sequence[begin] != sequence) return {};
    const int tokens = tokens_of_part(a.batch.position[end - 1] + 1, share.parts);
    return {row, a.batch.position[row] / tokens + 1};
}

// What a warp has joined: four columns of each lane.
struct Joined {
    SplitSum all;
    float4 sum;
};

// Joins the parts from `first` on in steps of latent_warps. parts: of the row and head.
__device__ Joined join_parts(const float* parts, int first, int count, int column) {
    const int lane = static_cast<int>(threadIdx.x) % 32, mine = first + lane * latent_warps;
    static_assert(most_latent_parts <= 32 * latent_warps);
    const auto part = [&](int index) {
        return parts + static_cast<std::int64_t>(index) * latent_part_floats;
    };
    SplitSum sum{-INFINITY, 0};
    if (mine < count) sum = {part(mine)[0], part(mine)[1]};
    float largest = sum.largest;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    const float factor = mine < count ? power_of_two(sum.largest - largest) : 0.0f;
    float total = factor * sum.total;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) total += __shfl_xor_sync(0xffffffffu, total, offset);
    float4 joined = make_float4(0, 0, 0, 0);
#pragma unroll 8
    for (int index = first, i = 0; index < count; index += latent_warps, ++i) {
        const float4 v = *reinterpret_cast<const float4*>(part(index) + latent_sum_begin + column);
        const float weight = __shfl_sync(0xffffffffu, factor, i);
        joined = make_float4(fmaf(weight, v.x, joined.x), fmaf(weight, v.y, joined.y),
                             fmaf(weight, v.z, joined.z), fmaf(weight, v.w, joined.w));
    }
    return {{largest, total}, joined};
}

// Grid: (places, heads, columns of a value / join_columns).
__global__ void __launch_bounds__(latent_threads)
    join_latent(const AttentionArgs a, const LatentShare share) {
    __shared__ SplitSum sums[latent_warps];
    __shared__ float4 values[latent_warps][join_columns / 4];
    begin_after_earlier_kernels();
    const int place = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
    const JoinPlace to = join_place(a, share, place);
    if (to.count == 1) return;
    const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
    const int first_column = static_cast<int>(blockIdx.z) * join_columns;
    const Joined joined =
        join_parts(latent_part(a, place, head, 0, share.parts), warp, to.count, first_column + lane * 4);
    values[warp][lane] = joined.sum;
    if (lane == 0) sums[warp] = joined.all;
    __syncthreads();
    if (t >= join_columns) return;
    SplitSum all = sums[0];
    float sum = reinterpret_cast<const float*>(values[0])[t];
#pragma unroll
    for (int w = 1; w < latent_warps; ++w) {
        const JoinFactors factors = join_split(all, sums[w]);
        sum = join_value(sum, reinterpret_cast<const float*>(values[w])[t], factors);
    }
    out_head(a, to.row, head)[latent_rotated + first_column + t] =
        limited_half(__fdiv_rn(sum, all.total), a.limit);
}

}  // namespace

void launch_join_latent(const AttentionArgs& args, const LatentShare& share, const Stream& stream) {
    launch_early("joining the parts of attention", join_latent,
                 {share.places(args.batch), latent_threads, 0, args.heads, latent_value / join_columns},
                 stream, args, share);
}

}  // namespace voltpile::llm
