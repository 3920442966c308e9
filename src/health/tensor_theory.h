// What the tensor cores of a GPU can do.
#pragma once

#include "plan/topology.h"

namespace voltpile {

struct TensorTheory {
    double flop_per_s = 0;   // of fp16 matrices with fp32 sums; 0: none, or unknown
    double least_share = 0;  // of it, that a healthy GPU reaches with the instruction that we measure
};

TensorTheory tensor_theory(const Gpu& gpu);

}  // namespace voltpile
