#include "llm/ops/cuda/rotation.h"

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

#include "device/capability.h"
#include "device/memory.h"
#include "llm/model/gpu_memory.h"

namespace voltpile::llm {

namespace {

constexpr int most_factors = 12;

// The same on all ranks and in all runs.
std::vector<std::uint32_t> random_signs(int columns) {
    std::mt19937 random(static_cast<std::uint32_t>(columns));
    std::vector<std::uint32_t> words(static_cast<std::size_t>(columns) / 32);
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
    return words;
}

}  // namespace

Rotation Rotations::of(int columns, const Stream& stream) {
    if (columns > most_integer_columns(current_compute_capability())) return {};
    DeviceBuffer<std::uint32_t>& signs = signs_[columns];
    if (signs.size() == 0) {
        const std::vector<std::uint32_t> words = random_signs(columns);
        signs = DeviceBuffer<std::uint32_t>(words.size());
        copy_to_device(signs.data(), words.data(), signs.bytes(), stream);
    }
    return {columns, std::min(std::countr_zero(static_cast<unsigned>(columns)), most_factors), signs.data()};
}

}  // namespace voltpile::llm
