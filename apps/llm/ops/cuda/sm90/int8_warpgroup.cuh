// Products of int8 of a warpgroup (PTX ISA: wgmma, .s32.s8.s8), as those of fp16 in warpgroup.cuh.
#pragma once

#include "llm/ops/cuda/sm90/warpgroup.cuh"

namespace voltpile::llm {

template <int size>
__device__ __forceinline__ void keep(std::int32_t (&values)[size]) {
#pragma unroll
    for (int i = 0; i < size; ++i) asm volatile("" : "+r"(values[i])::"memory");
}

#define VOLTPILE_SUMS_16(d, at)                                                                       \
    "+r"(d[at]), "+r"(d[at + 1]), "+r"(d[at + 2]), "+r"(d[at + 3]), "+r"(d[at + 4]), "+r"(d[at + 5]), \
        "+r"(d[at + 6]), "+r"(d[at + 7]), "+r"(d[at + 8]), "+r"(d[at + 9]), "+r"(d[at + 10]),         \
        "+r"(d[at + 11]), "+r"(d[at + 12]), "+r"(d[at + 13]), "+r"(d[at + 14]), "+r"(d[at + 15])
#define VOLTPILE_NAMES_64                                                                             \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, " \
    "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, " \
    "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, " \
    "%59, %60, %61, %62, %63"

// sum (64 x 128) = or += a b^T over 32 columns of a (64 rows) and b (128 rows), both in shared memory as
// describe() says, 128 columns in a row.
__device__ __forceinline__ void multiply_int8(std::int32_t (&sum)[64], std::uint64_t a, std::uint64_t b,
                                              bool add) {
    asm volatile(
        "{\n"
        ".reg .pred add;\n"
        "setp.ne.b32 add, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {" VOLTPILE_NAMES_64
        "}, %64, %65, add;\n"
        "}"
        : VOLTPILE_SUMS_16(sum, 0), VOLTPILE_SUMS_16(sum, 16), VOLTPILE_SUMS_16(sum, 32),
          VOLTPILE_SUMS_16(sum, 48)
        : "l"(a), "l"(b), "r"(static_cast<int>(add)));
}

#undef VOLTPILE_SUMS_16
#undef VOLTPILE_NAMES_64

}  // namespace voltpile::llm
