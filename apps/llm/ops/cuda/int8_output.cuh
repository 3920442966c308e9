// Where the sums of a half of a tile of integers go.
#pragma once

#include "llm/ops/cuda/int8_product.h"
#include "llm/ops/cuda/shared_tile.cuh"

namespace voltpile::llm {

template <bool gated, class Shape>
class Int8Output {
  public:
    // piece: counted twice. x_scale: of its rows, in shared memory.
    __device__ Int8Output(const Int8Args& args, int tile, int piece, const float* x_scale)
        : Int8Output(args, int8_halves * tile + piece % int8_halves, piece / int8_halves, x_scale,
                     threadIdx.x) {}
    __device__ static void add(float4& sum, const float4& part) {
        sum.x = __int_as_float(__float_as_int(sum.x) + __float_as_int(part.x));
        sum.y = __int_as_float(__float_as_int(sum.y) + __float_as_int(part.y));
        sum.z = __int_as_float(__float_as_int(sum.z) + __float_as_int(part.z));
        sum.w = __int_as_float(__float_as_int(sum.w) + __float_as_int(part.w));
    }
    // See TileOutput.
    template <int count>
    __device__ __forceinline__ void put_quads(int n, const float4 (&bits)[count]) const {
        const float2 scale = scale_of(n / slab_quads<Shape>);
        const float* const x_scale = x_scale_ + n % slab_quads<Shape> * 8;
        float4 sum[count];
#pragma unroll
        for (int q = 0; q < count; ++q) {
            const auto x = *reinterpret_cast<const float2*>(x_scale + q * 8);
            sum[q] = make_float4(number(bits[q].x, scale.x * x.x), number(bits[q].y, scale.x * x.y),
                                 number(bits[q].z, scale.y * x.x), number(bits[q].w, scale.y * x.y));
        }
        out_.put_quads(n, sum);
    }

  private:
    __device__ Int8Output(const Int8Args& args, int half, int piece, const float* x_scale, unsigned thread)
        : out_(args.tiles, half, piece), x_scale_(x_scale + thread % 4 * 2) {
        const int warp = static_cast<int>(thread) / 32, lane = static_cast<int>(thread) % 32;
        const float* scale = args.weights.scale + static_cast<std::int64_t>(half) * Shape::weights + lane / 4;
#pragma unroll
        for (int slab = 0; slab < Shape::slabs; ++slab) {
            const int row = first_row_of<false, Shape::slabs>(warp, slab);
            scale_[slab] = {scale[row], scale[row + 8]};
        }
    }
    // Not by an index, which would put them into local memory.
    __device__ float2 scale_of(int slab) const {
        static_assert(Shape::slabs <= 2);
        return slab == 0 ? scale_[0] : scale_[Shape::slabs - 1];
    }
    __device__ static float number(float bits, float scale) {
        return static_cast<float>(__float_as_int(bits)) * scale;
    }

    TileOutput<gated, Shape> out_;
    const float* x_scale_;
    float2 scale_[Shape::slabs];  // of two rows of weights
};

}  // namespace voltpile::llm
