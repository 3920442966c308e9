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
#define VOLTPILE_SUMS_32(d, at) VOLTPILE_SUMS_16(d, at), VOLTPILE_SUMS_16(d, at + 16)
#define VOLTPILE_SUMS_48(d, at) VOLTPILE_SUMS_32(d, at), VOLTPILE_SUMS_16(d, at + 32)
#define VOLTPILE_SUMS_64(d, at) VOLTPILE_SUMS_32(d, at), VOLTPILE_SUMS_32(d, at + 32)
#define VOLTPILE_SUMS_80(d, at) VOLTPILE_SUMS_64(d, at), VOLTPILE_SUMS_16(d, at + 64)
#define VOLTPILE_SUMS_96(d, at) VOLTPILE_SUMS_64(d, at), VOLTPILE_SUMS_32(d, at + 64)
#define VOLTPILE_SUMS_112(d, at) VOLTPILE_SUMS_64(d, at), VOLTPILE_SUMS_48(d, at + 64)
#define VOLTPILE_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define VOLTPILE_NAMES_32 \
    VOLTPILE_NAMES_16     \
    ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define VOLTPILE_NAMES_48 \
    VOLTPILE_NAMES_32     \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define VOLTPILE_NAMES_64 \
    VOLTPILE_NAMES_48     \
    ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define VOLTPILE_NAMES_80 \
    VOLTPILE_NAMES_64     \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define VOLTPILE_NAMES_96 \
    VOLTPILE_NAMES_80     \
    ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define VOLTPILE_NAMES_112 \
    VOLTPILE_NAMES_96      \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define VOLTPILE_NAMES_128 \
    VOLTPILE_NAMES_112     \
    ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// sum (64 x 2 size) += a b^T over 32 columns of a (64 rows) and b, both in shared memory as describe() says,
// 128 columns in a row. size: a multiple of 16 up to 128.
#define VOLTPILE_MULTIPLY_INT8(size, columns, names, a_name, b_name, ...)                             \
    __device__ __forceinline__ void multiply_int8(std::int32_t(&sum)[size], std::uint64_t a,          \
                                                  std::uint64_t b) {                                  \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" columns "k32.s32.s8.s8 {" names "}, " a_name \
                     ", " b_name ", 1;"                                                               \
                     : __VA_ARGS__                                                                    \
                     : "l"(a), "l"(b));                                                               \
    }
VOLTPILE_MULTIPLY_INT8(16, "32", VOLTPILE_NAMES_16, "%16", "%17", VOLTPILE_SUMS_16(sum, 0))
VOLTPILE_MULTIPLY_INT8(32, "64", VOLTPILE_NAMES_32, "%32", "%33", VOLTPILE_SUMS_32(sum, 0))
VOLTPILE_MULTIPLY_INT8(48, "96", VOLTPILE_NAMES_48, "%48", "%49", VOLTPILE_SUMS_48(sum, 0))
VOLTPILE_MULTIPLY_INT8(64, "128", VOLTPILE_NAMES_64, "%64", "%65", VOLTPILE_SUMS_64(sum, 0))
VOLTPILE_MULTIPLY_INT8(80, "160", VOLTPILE_NAMES_80, "%80", "%81", VOLTPILE_SUMS_80(sum, 0))
VOLTPILE_MULTIPLY_INT8(96, "192", VOLTPILE_NAMES_96, "%96", "%97", VOLTPILE_SUMS_96(sum, 0))
VOLTPILE_MULTIPLY_INT8(112, "224", VOLTPILE_NAMES_112, "%112", "%113", VOLTPILE_SUMS_112(sum, 0))
VOLTPILE_MULTIPLY_INT8(128, "256", VOLTPILE_NAMES_128, "%128", "%129", VOLTPILE_SUMS_64(sum, 0),
                       VOLTPILE_SUMS_64(sum, 64))

#undef VOLTPILE_MULTIPLY_INT8
#undef VOLTPILE_SUMS_16
#undef VOLTPILE_SUMS_32
#undef VOLTPILE_SUMS_48
#undef VOLTPILE_SUMS_64
#undef VOLTPILE_SUMS_80
#undef VOLTPILE_SUMS_96
#undef VOLTPILE_SUMS_112
#undef VOLTPILE_NAMES_16
#undef VOLTPILE_NAMES_32
#undef VOLTPILE_NAMES_48
#undef VOLTPILE_NAMES_64
#undef VOLTPILE_NAMES_80
#undef VOLTPILE_NAMES_96
#undef VOLTPILE_NAMES_112
#undef VOLTPILE_NAMES_128

}  // namespace voltpile::llm
