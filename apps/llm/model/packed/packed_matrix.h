// A matrix that a Hugging Face folder has packed in another layout than its rows of blocks. It is converted
// when it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "llm/model/model_tensor.h"

namespace voltpile::llm {

struct PackedShape {
    std::string place;  // "FILE: tensor NAME", for messages
    std::uint64_t rows;
    std::uint64_t columns;
};

class PackedMatrix {
  public:
    virtual ~PackedMatrix() = default;
    PackedMatrix(const PackedMatrix&) = delete;
    PackedMatrix& operator=(const PackedMatrix&) = delete;

    std::uint64_t rows() const { return shape_.rows; }
    std::uint64_t columns() const { return shape_.columns; }
    WeightFormat format() const { return format_; }  // to which it converts

    // Writes a slice in format(), row after row without gaps, on several threads. The slice is in the matrix
    // and cuts no block. Thread-safe. Throws FileError for scales or weights that are
    // not numbers, or that F16 cannot hold.
    void read(const TensorSlice& slice, std::byte* out) const;

    // Returns the bytes in the file: weights, scales...
    virtual std::vector<std::span<const std::byte>> parts() const = 0;

  protected:
    static constexpr std::size_t kTileRows = 64;

    PackedMatrix(PackedShape shape, WeightFormat format);

    // Writes at most kTileRows rows. Returns false if a scale or weight is not finite in F16. Does not
    // throw.
    virtual bool convert(const TensorSlice& tile, std::byte* out) const = 0;

  private:
    PackedShape shape_;
    WeightFormat format_;
};

}  // namespace voltpile::llm
