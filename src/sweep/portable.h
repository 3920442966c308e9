// Lets one source serve GPUs and several CPU instruction sets. Everything marked VOLTPILE_HD is always
// inlined and lives in an inline namespace named after the target. So the linker can never pick code compiled
// for AVX-512 for the whole program.
#pragma once

#if defined(__CUDACC__)
#define VOLTPILE_HD __host__ __device__ __forceinline__
#else
#define VOLTPILE_HD inline __attribute__((always_inline))
#endif

// Before loops over bodies and coordinates. A source that would become too large defines it as nothing.
#if defined(VOLTPILE_UNROLL)
#elif defined(__CUDA_ARCH__) || defined(__clang__)
#define VOLTPILE_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)  // nvcc's host pass understands neither
#define VOLTPILE_UNROLL
#else
#define VOLTPILE_UNROLL _Pragma("GCC unroll 9")
#endif

#ifndef VOLTPILE_TARGET
#define VOLTPILE_TARGET portable
#endif
