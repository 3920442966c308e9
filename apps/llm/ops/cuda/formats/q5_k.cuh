// Q5_K on GPUs. Planes (matrix.h): those of Q4_K, and high has the fifth bits.
#pragma once

#include "llm/ops/cuda/formats/q4_k.cuh"

namespace voltpile::llm {

template <>
struct FileBlock<WeightFormat::Q5_K> : KBlock<true> {};

template <>
struct Units<WeightFormat::Q5_K> : Units<WeightFormat::Q4_K> {
    struct Raw {
        uint4 quants[4];
        uint4 super;
        uint4 high;
        uint2 scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_common(raw, w, group, unit);
        raw.high = stream16(w.high + unit_index(w, group, unit) * 16);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(five_bits_of_all(raw.quants[j], word(raw.high, j), n, i));
    }
};

template <>
struct RowUnit<WeightFormat::Q5_K> {
    struct Raw {
        uint4 quants;
        __half2 d;
        uchar2 scales;
        std::uint32_t high;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        Raw raw;
        RowUnit<WeightFormat::Q4_K>::load_common(raw, w, row, unit);
        raw.high = reinterpret_cast<const std::uint32_t*>(w.high)[RowIndex(w, row, unit).unit];
        return raw;
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) { return low_bits(raw.quants, n, i) | fifth_bits(raw.high, n, i); };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_above_min(RowUnit<WeightFormat::Q4_K>::scale_and_min(raw), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
        return rounded_eight<WeightFormat::Q5_K>(raw, q);  // the other way needs more registers
#else
        return halves_above_min<16>(RowUnit<WeightFormat::Q4_K>::scale_and_min(raw), q, bytes(raw));
#endif
    }
};

}  // namespace voltpile::llm
