// A tensor in a file: the common result of the GGUF and safetensors readers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "llm/model/weight_format.h"

namespace voltpile::llm {

class PackedMatrix;

// What a safetensors file stores. Only weights are tensors of a model; the others are parts of packed ones,
// or tables of an EAGLE 3 head.
enum class StoredType { Weight, I8, U8, I32, I64, Float8, Bool };

// Row-major, with `columns` consecutive weights in a row. A one-dimensional tensor has one row; of more than
// two dimensions, all but the last together count as rows. The reader has checked that the bytes are in the
// file.
struct StoredTensor {
    WeightFormat format;
    int dimensions;
    std::uint64_t rows;
    std::uint64_t columns;
    const std::byte* data;
    std::uint64_t offset;  // of `data` from the file's beginning
    std::uint64_t bytes;
    StoredType element = StoredType::Weight;  // otherwise `format` means nothing
    const PackedMatrix* packed = nullptr;     // converts the tensor's rows; then there are no `data`
    std::uint64_t packed_row = 0;             // the tensor's first row in `packed`
    std::uint64_t outermost = 1;              // the extent of the first dimension in the order of folders
};

using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

}  // namespace voltpile::llm
