#include "llm/ops/cpu/rotate_blocks.h"

#include <cmath>

namespace voltpile::llm {
namespace {

// Replaces each number i whose bit `length` is 0, and number i + length, by their sum and difference. A
// constant length lets the compiler use vectors for short ones too.
template <int constant = 0>
void add_and_subtract(float* numbers, std::ptrdiff_t count, int of_length = constant) {
    const int length = constant > 0 ? constant : of_length;
    for (float* at = numbers; at < numbers + count; at += std::ptrdiff_t{2} * length)
        for (int i = 0; i < length; ++i) {
            const float first = at[i], second = at[i + length];
            at[i] = first + second;
            at[i + length] = first - second;
        }
}

}  // namespace

void rotate_blocks(float* numbers, std::ptrdiff_t count, int order) {
    if (order == 1) return;
    add_and_subtract<1>(numbers, count);
    if (order > 2) add_and_subtract<2>(numbers, count);
    if (order > 4) add_and_subtract<4>(numbers, count);
    for (int length = 8; length < order; length *= 2) add_and_subtract(numbers, count, length);
    const float scale = 1 / std::sqrt(static_cast<float>(order));
    for (std::ptrdiff_t i = 0; i < count; ++i) numbers[i] *= scale;
}

}  // namespace voltpile::llm
