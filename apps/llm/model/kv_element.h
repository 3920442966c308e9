// The element type of keys and values in the KV cache, and how each is stored.
#pragma once

#include <cstddef>
#include <cstdint>

namespace voltpile::llm {

// A head below is the keys, or the values, of one token and KV head: head_dim numbers x.
//
// F16 stores x rounded to fp16, F32 x as it is; only cores have F32.
//
// I8 and I4 rotate a head before they store it, because one number much larger than the others, as keys of
// many models have, would take most of the range that all share. Each block of kv_rotation() adjacent numbers
// is multiplied by the Walsh-Hadamard matrix of that order, over the square root of the order: the sign of
// its element (i, j) is (-1)^popcount(i & j). The matrix is symmetric and its own inverse. Queries are
// rotated alike, which leaves their products with keys as they are, and sums of values are rotated back. The
// method is that of QuaRot (Ashkboos et al., arXiv:2404.00456). x below is a rotated head, whose numbers can
// be as many times as large as those of the head as the square root of the order; the limits of fp16 apply to
// them.
//
// I8 stores, for each head, scale = max |x| / 127 in fp32 and q = x / scale rounded to the nearest integer; x
// is read as q * scale. If max |x| is 0, q is 0; if a number is not finite, the scale is NaN.
//
// I4 divides a head into groups of kKvGroup numbers; the last group may have fewer, but takes as much memory.
// For each group it stores two fp16 numbers, scale and least, and codes q of 4 bits; x is read as
// q * scale + least.
//   least = min x, rounded to the nearest fp16 number
//   scale = (max x - least) / 15 in fp32, or 0 if that is negative, then rounded down to fp16
//   q = (x - least) / scale in fp32, limited to 0 to 15, rounded to the nearest integer, ties to even; 0 if
//       scale is 0
// Rounding the scale down keeps what is read at most max x, so that it cannot overflow fp16. If a number of
// the group is NaN or its magnitude exceeds 65504, the scale is NaN and all q are 0. Byte i of a group has
// the code of number i in its low bits and that of number i + 16 in its high bits. Codes behind the end of a
// head are 0.
enum class KvElement { F16, I8, I4, F32 };

// Whether heads are rotated and have scales.
constexpr bool is_quantized(KvElement element) {
    return element == KvElement::I8 || element == KvElement::I4;
}

constexpr std::size_t kKvGroup = 32;
constexpr std::size_t kKvGroupBytes = kKvGroup / 2;

// Returns how many numbers of a head I8 and I4 rotate together: the largest power of two that divides
// head_dim and `apart`. The first `apart` numbers are not mixed with the others; 0: there is no such part.
constexpr int kv_rotation(int head_dim, int apart) {
    const int either = head_dim | apart;
    return either & -either;
}

// Returns the number of groups of an I4 head.
constexpr std::size_t kv_groups(std::size_t head_dim) {
    return (head_dim + kKvGroup - 1) / kKvGroup;
}

// Returns the bytes of a head without scales: of the numbers, or of the codes.
constexpr std::size_t kv_number_bytes(KvElement element, std::size_t head_dim) {
    switch (element) {
        case KvElement::F16:
            return 2 * head_dim;
        case KvElement::F32:
            return 4 * head_dim;
        case KvElement::I8:
            return head_dim;
        case KvElement::I4:
            break;
    }
    return kv_groups(head_dim) * kKvGroupBytes;
}

// Returns the bytes of a head's scales: an fp32 number, or `scale` and `least` of each group.
constexpr std::size_t kv_scale_bytes(KvElement element, std::size_t head_dim) {
    switch (element) {
        case KvElement::F16:
        case KvElement::F32:
            return 0;
        case KvElement::I8:
            return sizeof(float);
        case KvElement::I4:
            break;
    }
    return kv_groups(head_dim) * 2 * sizeof(std::uint16_t);
}

// Returns the bytes of a head.
constexpr std::size_t kv_head_bytes(KvElement element, std::size_t head_dim) {
    return kv_number_bytes(element, head_dim) + kv_scale_bytes(element, head_dim);
}

}  // namespace voltpile::llm
