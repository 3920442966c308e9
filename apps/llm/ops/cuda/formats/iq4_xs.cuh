// IQ4_XS on GPUs. Planes (matrix.h): quants has codes, scales an int8 scale at gu * 4 + j, super fp16 d at
// gs * 4 + j.
#pragma once

#include "llm/ops/cuda/repack.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

// IQ4_XS blocks: d, 8 pairs of high bits of scales, 8 nibbles with their low bits, 8 times 16 bytes of
// nibbles.
template <>
struct FileBlock<WeightFormat::IQ4_XS> {
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const int part = mine.part;
        const std::uint8_t* block = blocks + mine.index / 8 * bytes_of_block<WeightFormat::IQ4_XS>;
        const Place& place = mine.place;
        put_codes(block + 8 + 16 * part, place.quants);
        const int low = block[4 + part / 2] >> (part % 2 * 4) & 15,
                  high = block_half(block + 2) >> (2 * part) & 3;
        to.scales[place.unit] = static_cast<std::uint8_t>((low | high << 4) - 32);
        if (part == 0) reinterpret_cast<std::uint16_t*>(to.super)[place.super] = block_half(block);
    }
};

template <>
struct Units<WeightFormat::IQ4_XS> : Iq4Units<NibbleUnits> {
    struct Raw {
        uint4 quants[4];
        uint2 super;
        std::uint32_t scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        raw.super = stream8(w.super + super_index(w, group, unit) * 8);
        raw.scales = stream4(w.scales + unit_index(w, group, unit) * 4);
        return raw;
    }
    __device__ static float scale(const Raw& raw, int j, int) {
        return half_in(raw.super, j) * signed_byte(raw.scales, j);
    }
};

template <>
struct RowUnit<WeightFormat::IQ4_XS> {
    struct Raw {
        uint4 quants;
        __half d;
        signed char scale;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        return {quants_at(w, row, unit), reinterpret_cast<const __half*>(w.super)[index.super],
                reinterpret_cast<const signed char*>(w.scales)[index.unit]};
    }
    __device__ __forceinline__ static float scale(const Raw& raw) {
        return __half2float(raw.d) * static_cast<float>(raw.scale);
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_of_bytes<128>(scale(raw), q, iq4_bytes(raw.quants), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_of_bytes<128>(__float2half_rn(scale(raw)), q, iq4_bytes(raw.quants));
    }
};

}  // namespace voltpile::llm
