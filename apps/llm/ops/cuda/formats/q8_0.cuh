// Q8_0 on GPUs. Planes (matrix.h): quants has int8 (rows, columns), scales fp16 at gu * 4 + j.
#pragma once

#include "llm/ops/cuda/repack.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

template <>
struct FileBlock<WeightFormat::Q8_0> {
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const std::uint8_t* block = blocks + mine.index * bytes_of_block<WeightFormat::Q8_0>;
        std::uint8_t* quants = to.quants + static_cast<std::int64_t>(mine.row) * to.columns + mine.unit * 32;
        for (int i = 0; i < 32; ++i) quants[i] = block[2 + i];
        reinterpret_cast<std::uint16_t*>(to.scales)[mine.place.unit] = block_half(block);
    }
};

template <>
struct Units<WeightFormat::Q8_0> {
    static constexpr int halves = 1, scales = 1, zero = 0;
    struct Raw {
        uint4 quants[4];
        uint2 scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        const std::uint8_t* from = w.quants + static_cast<std::int64_t>(group) * 4 * w.columns + unit * 16;
#pragma unroll
        for (int j = 0; j < 4; ++j) raw.quants[j] = stream16(from + static_cast<std::int64_t>(j) * w.columns);
        raw.scales = stream8(w.scales + (static_cast<std::int64_t>(group) * (w.columns / 32) + unit / 2) * 8);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int, int i) {
        return static_cast<int>(word(raw.quants[j], i));
    }
    __device__ static float scale(const Raw& raw, int j, int) {
        return half_in(raw.scales, j);
    }
};

template <>
struct RowUnit<WeightFormat::Q8_0> {
    struct Raw {
        uint4 quants[2];
        __half d;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        Raw raw;
        const auto* from =
            reinterpret_cast<const uint4*>(w.quants + static_cast<std::int64_t>(row) * w.columns + unit * 32);
        raw.quants[0] = from[0];
        raw.quants[1] = from[1];
        raw.d = reinterpret_cast<const __half*>(w.scales)[RowIndex(w, row, unit).unit];
        return raw;
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) { return word(raw.quants[n], i) ^ 0x80808080u; };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_of_bytes<128>(__half2float(raw.d), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_of_bytes<128>(raw.d, q, bytes(raw));
    }
};

}  // namespace voltpile::llm
