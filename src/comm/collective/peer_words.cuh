// Loads, stores and reduces user data as 8-byte words, for any alignment and element type.
#pragma once

#include <cuda_fp16.h>

#include "comm/collective/types.h"

namespace voltpile {

using Word = unsigned long long;

template <int K>
struct Fragment {
    Word word[K];
};

template <class Part>
__device__ Word load_parts(const char* from, unsigned bytes) {
    Word word = 0;
#pragma unroll
    for (unsigned i = 0; i < 8 / sizeof(Part); ++i)
        if ((i + 1) * sizeof(Part) <= bytes)
            word |= static_cast<Word>(reinterpret_cast<const Part*>(from)[i]) << (8 * sizeof(Part) * i);
    return word;
}

template <class Part>
__device__ void store_parts(char* to, unsigned bytes, Word word) {
#pragma unroll
    for (unsigned i = 0; i < 8 / sizeof(Part); ++i)
        if ((i + 1) * sizeof(Part) <= bytes)
            reinterpret_cast<Part*>(to)[i] = static_cast<Part>(word >> (8 * sizeof(Part) * i));
}

// Returns the low two bits that address and length have: 0 allows accesses of 4 bytes, 2 of 2 bytes, and an
// odd value of single bytes.
__device__ inline unsigned part_mask(const char* at, unsigned bytes) {
    return (static_cast<unsigned>(reinterpret_cast<std::size_t>(at)) | bytes) & 3;
}

// Returns word `index` of the `bytes` bytes at `base`, padded with zeros. base must be aligned to its
// elements.
__device__ inline Word load_word(const char* base, unsigned bytes, unsigned index) {
    const unsigned begin = 8 * index;
    if (begin >= bytes) return 0;
    const char* from = base + begin;
    const unsigned left = bytes - begin;
    if (left >= 8 && reinterpret_cast<std::size_t>(from) % 8 == 0)
        return *reinterpret_cast<const Word*>(from);
    const unsigned odd = part_mask(from, left);
    if (odd == 0) return load_parts<unsigned>(from, left);
    return odd == 2 ? load_parts<unsigned short>(from, left) : load_parts<unsigned char>(from, left);
}

__device__ inline void store_word(char* base, unsigned bytes, unsigned index, Word word) {
    const unsigned begin = 8 * index;
    if (begin >= bytes) return;
    char* to = base + begin;
    const unsigned left = bytes - begin;
    const unsigned odd = part_mask(to, left);
    if (left >= 8 && reinterpret_cast<std::size_t>(to) % 8 == 0)
        *reinterpret_cast<Word*>(to) = word;
    else if (odd == 0)
        store_parts<unsigned>(to, left, word);
    else if (odd == 2)
        store_parts<unsigned short>(to, left, word);
    else
        store_parts<unsigned char>(to, left, word);
}

// ---- Reducing: each element in rank order ----

struct Int32Lanes {
    using Value = unsigned;  // wraps around
    static constexpr int count = 2;
    __device__ static Value get(Word w, int i) { return static_cast<unsigned>(w >> (32 * i)); }
    __device__ static Word put(Value v, int i) { return static_cast<Word>(v) << (32 * i); }
    __device__ static Value larger(Value a, Value b) {
        return static_cast<int>(a) > static_cast<int>(b) ? a : b;
    }
};
struct Float16Lanes {  // summed in fp32, rounded once
    using Value = float;
    static constexpr int count = 4;
    __device__ static Value get(Word w, int i) {
        return __half2float(__ushort_as_half(static_cast<unsigned short>(w >> (16 * i))));
    }
    __device__ static Word put(Value v, int i) {
        return static_cast<Word>(__half_as_ushort(__float2half_rn(v))) << (16 * i);
    }
    __device__ static Value larger(Value a, Value b) { return fmaxf(a, b); }
};
struct Float32Lanes {
    using Value = float;
    static constexpr int count = 2;
    __device__ static Value get(Word w, int i) {
        return __uint_as_float(static_cast<unsigned>(w >> (32 * i)));
    }
    __device__ static Word put(Value v, int i) { return static_cast<Word>(__float_as_uint(v)) << (32 * i); }
    __device__ static Value larger(Value a, Value b) { return fmaxf(a, b); }
};
struct Float64Lanes {
    using Value = double;
    static constexpr int count = 1;
    __device__ static Value get(Word w, int) { return __longlong_as_double(static_cast<long long>(w)); }
    __device__ static Word put(Value v, int) { return static_cast<Word>(__double_as_longlong(v)); }
    __device__ static Value larger(Value a, Value b) { return fmax(a, b); }
};

template <class Lanes, bool sum, int N, int K>
__device__ Fragment<K> reduce_lanes(const Fragment<K> (&of_rank)[N], int size) {
    Fragment<K> out;
#pragma unroll
    for (int k = 0; k < K; ++k) {
        out.word[k] = 0;
#pragma unroll
        for (int i = 0; i < Lanes::count; ++i) {
            typename Lanes::Value value = Lanes::get(of_rank[0].word[k], i);
#pragma unroll
            for (int r = 1; r < N; ++r) {
                const typename Lanes::Value next = Lanes::get(of_rank[r].word[k], i);
                if (r < size) value = sum ? value + next : Lanes::larger(value, next);
            }
            out.word[k] |= Lanes::put(value, i);
        }
    }
    return out;
}

template <bool sum, int N, int K>
__device__ Fragment<K> reduce_type(const Fragment<K> (&of_rank)[N], int size, int type) {
    switch (static_cast<ElementType>(type)) {
        case ElementType::Int32:
            return reduce_lanes<Int32Lanes, sum>(of_rank, size);
        case ElementType::Float16:
            return reduce_lanes<Float16Lanes, sum>(of_rank, size);
        case ElementType::Float32:
            return reduce_lanes<Float32Lanes, sum>(of_rank, size);
        default:
            return reduce_lanes<Float64Lanes, sum>(of_rank, size);
    }
}

template <int N, int K>
__device__ Fragment<K> reduce(const Fragment<K> (&of_rank)[N], int size, int type, int reduction) {
    return static_cast<Reduction>(reduction) == Reduction::Sum ? reduce_type<true>(of_rank, size, type)
                                                               : reduce_type<false>(of_rank, size, type);
}

}  // namespace voltpile
