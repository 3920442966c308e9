// Where the sums of a tile go. Shape: see shared_tile.cuh.
#pragma once

#include "llm/ops/cuda/tiles.cuh"

namespace voltpile::llm {

// The rows of the tile that a warp multiplies: 16, or 8 of the gate and as many of up.
template <bool gated, int slabs>
__device__ __forceinline__ int first_row_of(int warp, int slab) {
    return ((warp / 4 * slabs + slab) * 4 + warp % 4) * (gated ? 8 : 16);
}

// Transposes 8 x 8 numbers of fp16, of which lane l holds those of row l / 4 in columns l % 4 * 2 and the
// next. All lanes of the warp call it.
__device__ __forceinline__ std::uint32_t transposed(std::uint32_t two) {
    std::uint32_t result;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(two));
    return result;
}

// Quads of sums of a slab, see quad_of().
template <class Shape>
constexpr int slab_quads = Shape::rows / 8;

// Writes the sums of a warp, which come as the tensor cores leave them: 16 rows of weights (8 if gated) and 8
// rows of x at a time. In the output the rows of weights are neighbors, so halves are transposed, and a lane
// writes several with one store.
template <bool gated, class Shape>
class TileOutput {
  public:
    __device__ TileOutput(const TileArgs& args, int tile, int piece)
        : args_(args.matmul), place_(place_of<gated, Shape::weights>(args, tile)) {
        int t = static_cast<int>(threadIdx.x);
        asm volatile("" : "+r"(t));  // computed here, not kept in registers while products need them
        warp_ = t / 32;
        lane_ = t % 32;
        first_x_row_ = piece * Shape::rows;
        const bool in_place = args_.out_float ? !gated : (args_.out_columns | place_.out_begin) % 4 == 0;
        whole_ = in_place && place_.first_row + Shape::weights / (gated ? 2 : 1) <= place_.weights.rows;
    }
    // Adds what another worker has summed up.
    __device__ static void add(float4& sum, const float4& part) {
        sum.x += part.x;
        sum.y += part.y;
        sum.z += part.z;
        sum.w += part.w;
    }
    // Writes `count` quads of the sums from n on, see quad_of(), all of one slab. So many at once that none
    // of their instructions waits for the one before. All lanes of the warp call it.
    template <int count>
    __device__ __forceinline__ void put_quads(int n, const float4 (&sum)[count]) const {
        constexpr int each = slab_quads<Shape>;
        const int row = place_.first_row + first_row_of<gated, Shape::slabs>(warp_, n / each);
        const int x_row = first_x_row_ + n % each * 8;
        if (whole_) return args_.out_float ? put_floats(row, x_row, sum) : put_halves(row, x_row, sum);
#pragma unroll
        for (int q = 0; q < count; ++q) {
            const int my_row = row + lane_ / 4, my_x_row = x_row + 8 * q + lane_ % 4 * 2;
            put<gated>(args_, place_, my_row, my_x_row, sum[q].x, sum[q].z);
            put<gated>(args_, place_, my_row, my_x_row + 1, sum[q].y, sum[q].w);
            if (gated) continue;
            put<gated>(args_, place_, my_row + 8, my_x_row, sum[q].z, 0);
            put<gated>(args_, place_, my_row + 8, my_x_row + 1, sum[q].w, 0);
        }
    }

  private:
    // row, x_row: of the warp's first sum. Eight lanes write neighbors.
    template <int count>
    __device__ __forceinline__ void put_floats(int row, int x_row, const float4 (&sum)[count]) const {
        x_row += lane_ % 4 * 2;
        float* out = static_cast<float*>(args_.out) + static_cast<std::int64_t>(x_row) * args_.out_columns +
                     place_.out_begin + row + lane_ / 4;
#pragma unroll
        for (int q = 0; q < count; ++q) {
            if (x_row + 8 * q < args_.rows) out[0] = sum[q].x, out[8] = sum[q].z;
            float* const next = out + args_.out_columns;
            if (x_row + 8 * q + 1 < args_.rows) next[0] = sum[q].y, next[8] = sum[q].w;
            out += std::int64_t{8} * args_.out_columns;
        }
    }
    // row, x_row: of the warp's first sum. Afterwards a lane has row x_row + lane / 4 of the output.
    template <int count>
    __device__ __forceinline__ void put_halves(int row, int x_row, const float4 (&sum)[count]) const {
        const int t = lane_ % 4;
        x_row += lane_ / 4;
        __half* out = static_cast<__half*>(args_.out) + static_cast<std::int64_t>(x_row) * args_.out_columns +
                      place_.out_begin + row;
        std::uint32_t low[count], high[count];
        if constexpr (gated) {
            gate(sum, low);
#pragma unroll
            for (int q = 0; q < count; ++q) low[q] = transposed(low[q]);
        } else {
#pragma unroll
            for (int q = 0; q < count; ++q) {
                low[q] = transposed(packed(sum[q].x, sum[q].y));
                high[q] = transposed(packed(sum[q].z, sum[q].w));
            }
            // Lanes 0 and 1 of four take the first 8 rows of weights, the others the next 8.
#pragma unroll
            for (int q = 0; q < count; ++q) {
                std::uint32_t four[2];
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const int from = t % 2 * 2 + i;
                    const std::uint32_t of_low = __shfl_sync(0xffffffffu, low[q], from, 4),
                                        of_high = __shfl_sync(0xffffffffu, high[q], from, 4);
                    four[i] = t < 2 ? of_low : of_high;
                }
                low[q] = four[0];
                high[q] = four[1];
            }
        }
#pragma unroll
        for (int q = 0; q < count; ++q) {
            if (x_row + 8 * q < args_.rows) {
                if constexpr (gated)
                    *reinterpret_cast<std::uint32_t*>(out + 2 * t) = low[q];
                else
                    *reinterpret_cast<uint2*>(out + 4 * t) = make_uint2(low[q], high[q]);
            }
            out += std::int64_t{8} * args_.out_columns;
        }
    }
    template <int count>
    __device__ __forceinline__ void gate(const float4 (&sum)[count], std::uint32_t (&to)[count]) const {
        switch (args_.activation) {
            case Activation::Silu:
                return gate_by<Activation::Silu>(sum, to);
            case Activation::GeluTanh:
                return gate_by<Activation::GeluTanh>(sum, to);
            default:
                return gate_by<Activation::ClampedSwiglu>(sum, to);
        }
    }
    template <Activation activation, int count>
    __device__ __forceinline__ void gate_by(const float4 (&sum)[count], std::uint32_t (&to)[count]) const {
#pragma unroll
        for (int q = 0; q < count; ++q)
            to[q] = packed(gated_value(activation, sum[q].x, sum[q].z),
                           gated_value(activation, sum[q].y, sum[q].w));
    }
    __device__ __forceinline__ std::uint32_t packed(float first, float second) const {
        const __half2 two =
            __halves2half2(limited_half(first, args_.limit), limited_half(second, args_.limit));
        return reinterpret_cast<const std::uint32_t&>(two);
    }

    const MatmulArgs& args_;
    TilePlace place_;
    int warp_, lane_, first_x_row_;
    bool whole_;  // none of the tile's rows of weights is missing, and the places of halves are aligned
};

}  // namespace voltpile::llm
