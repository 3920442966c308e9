// An orthogonal matrix R by which the columns of weights and activations are multiplied before both are
// rounded to 8 bits: w x = (w R) (x R)^T. It spreads what a few columns have over many of them, so that one
// scale for a whole row suffices.
//
// R = D (I (x) H): D changes signs as if at random, and H is the Hadamard matrix of Sylvester's construction,
// divided by the root of its columns: the largest power of two that divides those of R, at most 4096.
#pragma once

#include <cstdint>
#include <map>

#include "device/buffer.h"
#include "device/stream.h"

namespace voltpile::llm {

// A default one has no columns and rotates nothing.
struct Rotation {
    int columns = 0;
    int factors = 0;                       // of H: it has 2^factors columns, 5 <= factors <= 12
    const std::uint32_t* signs = nullptr;  // in GPU memory: bit c % 32 of word c / 32 for column c
};

// The rotations of one GPU. Must outlive what uses them.
class Rotations {
  public:
    // Returns that of rows of so many columns, a multiple of 32, or a default one if a row does not fit in a
    // block's shared memory. Allocates memory for the first rows of so many columns.
    Rotation of(int columns, const Stream& stream);

  private:
    std::map<int, DeviceBuffer<std::uint32_t>> signs_;
};

}  // namespace voltpile::llm
