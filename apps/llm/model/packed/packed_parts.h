// The tensors in the files that together are one packed matrix.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "llm/model/packed/number_arrays.h"
#include "llm/model/packed/packed_matrix.h"
#include "llm/model/tensor_files.h"

namespace voltpile::llm {

class PackedParts {
  public:
    // layer: the name of its tensors up to the dot, such as "model.layers.0.mlp.up_proj". main: the suffix of
    // the tensor with the weights, which is there. Both arguments must outlive this object.
    PackedParts(const TensorFiles& files, std::string layer, std::string_view main)
        : files_(files), layer_(std::move(layer)), main_(main) {}

    const StoredTensor* find(std::string_view suffix) const;
    // Return a tensor that must be there, with this element or (scales) in F32, F16 or BF16.
    const StoredTensor& need(std::string_view suffix, StoredType element) const;
    // rows, columns: its shape; a vector has one row.
    const StoredTensor& need(std::string_view suffix, StoredType element, std::uint64_t rows,
                             std::uint64_t columns) const;

    PackedShape shape(std::uint64_t rows, std::uint64_t columns) const;
    const std::string& layer() const { return layer_; }
    std::string_view main() const { return main_; }

    // Returns "FILE: tensor LAYER.SUFFIX", for messages.
    std::string place(std::string_view suffix) const;
    // Throws FileError "FILE: tensor LAYER.SUFFIX message".
    [[noreturn]] void fail(std::string_view suffix, const std::string& message) const;

  private:
    const TensorFiles& files_;
    std::string layer_;
    std::string_view main_;
};

inline FloatArray floats(const StoredTensor& tensor) {
    return {tensor.data, tensor.format};
}
inline std::span<const std::byte> bytes(const StoredTensor& tensor) {
    return {tensor.data, tensor.bytes};
}

}  // namespace voltpile::llm
