// A tensor as it lies in a file: what the readers of GGUF and of safetensors have in common.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "llm/model/weight_format.h"

namespace voltpile::llm {

// Row-major, `columns` consecutive weights to a row. One-dimensional tensors have one row; of more than two
// dimensions all but the last are taken together as rows. The reader has checked that the bytes are in the
// file.
struct StoredTensor {
    WeightFormat format;
    int dimensions;
    std::uint64_t rows;
    std::uint64_t columns;
    const std::byte* data;
    std::uint64_t offset;  // of `data` from the file's beginning
    std::uint64_t bytes;
};

using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

}  // namespace voltpile::llm
