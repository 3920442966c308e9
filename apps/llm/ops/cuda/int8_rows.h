// Rotates rows of fp16 and rounds them to 8 bits.
#pragma once

#include "device/stream.h"
#include "llm/ops/cuda/int8_shape.h"
#include "llm/ops/cuda/norm_args.h"
#include "llm/ops/cuda/rotation.h"

namespace voltpile::llm {

// Row r of what is rounded becomes row first + r of `rows`, or, if it alternates, every second group of 8
// rows: first + 16 (r / 8) + r % 8.
struct Int8Places {
    Int8Rows rows;
    int each;  // see Int8Rows
    int first;
    bool alternates;
};

// x: fp16 (rows, rotation.columns), contiguous, 16-byte aligned. A number that is not finite makes the
// scale NaN, and with it the row's products.
void launch_int8_rows(const void* x, int rows, const Rotation& rotation, const Int8Places& to,
                      const Stream& stream);
// The same for the result of a norm, with its delta.
void launch_normed_int8_rows(const NormArgs& norm, int rows, const Rotation& rotation, const Int8Places& to,
                             const Stream& stream);
// Returns the number of rows from which on it is faster than a norm by itself (measured).
constexpr int least_normed_rows(int columns) {
    return columns <= 2048 ? 1 : 192;
}
// Whether it takes such rows: each thread of a block has some columns in its registers.
bool norms_in_int8_rows(const Rotation& rotation);

}  // namespace voltpile::llm
