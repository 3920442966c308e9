// NF4 on GPUs (level_units.cuh).
#pragma once

#include "llm/ops/cuda/level_units.cuh"

namespace voltpile::llm {

template <>
struct LevelTable<WeightFormat::NF4> {
    static constexpr CodeLevels levels = nf4_levels;
    static constexpr int fixed_one = 127 * 256;
    static constexpr float half_unit = 1;
};

template <>
struct FileBlock<WeightFormat::NF4> : FloatScaleBlock {};

template <>
struct Units<WeightFormat::NF4> : LevelUnits<WeightFormat::NF4> {};

template <>
struct RowUnit<WeightFormat::NF4> : LevelRow<WeightFormat::NF4> {};

}  // namespace voltpile::llm
