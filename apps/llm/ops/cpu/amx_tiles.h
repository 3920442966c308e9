// The tile registers of AMX. As assembly: the compiler's own functions need an option that would let it use
// AMX anywhere in this file.
#pragma once

#include "llm/ops/cpu/tile_rows.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {
namespace {

#if defined(__AVX512F__)
// The calling thread's tile registers, for products over `columns` columns, a multiple of 4 up to 64. There
// are two sets of three: sums, activations and weights.
class AmxTiles {
  public:
    static constexpr bool usable = true;

    explicit AmxTiles(int columns) {
        struct alignas(64) Shapes {
            std::uint8_t palette, start_row, reserved[14];
            std::uint16_t row_bytes[16];
            std::uint8_t rows[16];
        } shapes = {};
        static_assert(sizeof shapes == 64);
        shapes.palette = 1;
        for (int set = 0; set < 2; ++set) {
            const int sums = 3 * set, x = sums + 1, weights = sums + 2;
            shapes.rows[sums] = shapes.rows[x] = tile_rows;
            shapes.row_bytes[sums] = shapes.row_bytes[weights] = simd_bytes;
            shapes.row_bytes[x] = static_cast<std::uint16_t>(columns);
            shapes.rows[weights] = static_cast<std::uint8_t>(columns / 4);
        }
        __asm__ volatile("ldtilecfg %0" : : "m"(shapes));
    }
    // To be called at the end. No destructor: one would bring the runtime of exceptions into kernels.
    void release() { __asm__ volatile("tilerelease"); }

    // to[r][lane] = sum over the columns of x[r] times the weight of the lane; a lane of a register of
    // weights has 4 columns. x_stride, weights_stride: bytes from row to row, from register to register.
    template <int set>
    VOLTPILE_INLINE void multiply(const std::int8_t* x, std::int64_t x_stride, const std::uint8_t* weights,
                                  std::int64_t weights_stride, TileSums& to) {
        __asm__ volatile(
            "tilezero %%tmm%c[sums]\n\t"
            "tileloadd (%[x],%[x_stride],1), %%tmm%c[activations]\n\t"
            "tileloadd (%[w],%[w_stride],1), %%tmm%c[weights]\n\t"
            "tdpbsud %%tmm%c[weights], %%tmm%c[activations], %%tmm%c[sums]\n\t"
            "tilestored %%tmm%c[sums], (%[to],%[to_stride],1)"
            :
            : [x] "r"(x), [x_stride] "r"(x_stride), [w] "r"(weights), [w_stride] "r"(weights_stride),
              [to] "r"(to.of_row), [to_stride] "r"(static_cast<std::int64_t>(sizeof to.of_row[0])),
              [sums] "i"(3 * set), [activations] "i"(3 * set + 1), [weights] "i"(3 * set + 2)
            : "memory");
    }
};
#endif

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
