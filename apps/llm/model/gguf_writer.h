// Writes GGUF files, version 3, little-endian.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/model/gguf_entries.h"
#include "llm/model/model_tensor.h"

namespace voltpile::llm {

class GgufWriter {
  public:
    void add(std::string_view key, std::uint32_t value);
    void add(std::string_view key, float value);
    void add(std::string_view key, bool value);
    void add(std::string_view key, std::string_view value);
    void add(std::string_view key, const char* value) { add(key, std::string_view(value)); }
    void add(std::string_view key, std::span<const std::string> values);
    void add(std::string_view key, std::span<const float> values);
    void add(std::string_view key, std::span<const std::int32_t> values);

    // Adds an entry of another file, unchanged.
    void add(const GgufEntry& entry);

    // Returns the file up to the data of the first tensor.
    std::string header(std::span<const ModelTensor> tensors) const;

    // Fills `out` with rows [row_begin, row_end) of a tensor.
    using RowSource = std::function<void(const ModelTensor& tensor, std::size_t row_begin,
                                         std::size_t row_end, std::byte* out)>;

    // Writes metadata, tensor table and all tensors, a few megabytes at a time, to a temporary file beside
    // `path`, and renames it when it is complete. Throws FileError, and MachineError while another process
    // writes the same file.
    void write(const std::string& path, std::span<const ModelTensor> tensors, const RowSource& rows) const;

  private:
    void begin_entry(std::string_view key, std::uint32_t type);
    void begin_array(std::string_view key, std::uint32_t element_type, std::size_t count);

    std::string metadata_;  // encoded as in the file
    std::uint64_t entries_ = 0;
};

}  // namespace voltpile::llm
