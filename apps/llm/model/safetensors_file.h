// Reads one safetensors file: 64-bit header length, JSON header {name: {dtype, shape, data_offsets}}, data.
// Defined in the README of the safetensors project.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "llm/model/stored_tensor.h"

namespace voltpile::llm {

class SafetensorsFile {
  public:
    // Reads the header. bytes: the whole file, must outlive this object. path: for messages. As the format
    // demands, the tensors must cover the data without gaps or overlaps. Throws FileError with the problem,
    // also for element types other than F16, BF16 and F32, and for scalars and empty tensors, which no model
    // needs.
    SafetensorsFile(std::span<const std::byte> bytes, std::string path);

    const std::string& path() const { return path_; }
    const StoredTensors& tensors() const { return tensors_; }
    std::size_t header_bytes() const { return header_bytes_; }

  private:
    std::string path_;
    StoredTensors tensors_;
    std::size_t header_bytes_ = 0;
};

}  // namespace voltpile::llm
