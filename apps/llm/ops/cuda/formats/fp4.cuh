// FP4 of bitsandbytes on GPUs (level_units.cuh).
#pragma once

#include "llm/ops/cuda/level_units.cuh"

namespace voltpile::llm {

// Levels are multiples of 1/192, which fixed point holds, and so does fp16 after the division: levels then
// have few bits, and the low byte of all is 0.
template <>
struct LevelTable<WeightFormat::FP4> {
    static constexpr CodeLevels levels = fp4_levels;
    static constexpr int fixed_one = 192 * 169;
    static constexpr float half_unit = 2.0f / 3;
};

template <>
struct FileBlock<WeightFormat::FP4> : FloatScaleBlock {};

template <>
struct Units<WeightFormat::FP4> : LevelUnits<WeightFormat::FP4> {};

template <>
struct RowUnit<WeightFormat::FP4> : LevelRow<WeightFormat::FP4> {};

}  // namespace voltpile::llm
