// Reads one safetensors file: 64-bit header length, JSON header {name: {dtype, shape, data_offsets}}, data.
// Defined in the README of the safetensors project.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "llm/model/stored_tensor.h"

namespace voltpile::llm {

class SafetensorsFile {
  public:
    // Reads the header. bytes: the whole file, must outlive this object. path: for messages. As the format
    // demands, the tensors must cover the data without gaps or overlaps. Throws FileError with the problem,
    // also for element types that no supported model has, and for empty tensors. A scalar has one row and
    // column.
    SafetensorsFile(std::span<const std::byte> bytes, std::string path);

    const std::string& path() const { return path_; }
    const StoredTensors& tensors() const { return tensors_; }
    std::size_t header_bytes() const { return header_bytes_; }

  private:
    std::string path_;
    StoredTensors tensors_;
    std::size_t header_bytes_ = 0;
};

// Throws FileError for the first tensor that is not in F16, BF16 or F32.
void check_only_weights(const StoredTensors& tensors, std::string_view path);

}  // namespace voltpile::llm
