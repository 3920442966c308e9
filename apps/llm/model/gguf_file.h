// Reads metadata and tensor table of GGUF files, versions 2 and 3, little-endian.
// Layout: "GGUF", version, counts; metadata (key, type, value); tensor table (name, dimensions from the
// innermost on, type, offset); padding to the alignment; data. Defined in docs/gguf.md of the ggml project.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "llm/model/gguf_value.h"
#include "llm/model/stored_tensor.h"

namespace voltpile::llm {

class ByteCursor;

class GgufFile {
  public:
    // Reads the header. bytes: the whole file, must outlive this object. path: for messages. Checks every
    // count, size, offset and alignment before use. Throws FileError with the problem and its place, also for
    // tensors in formats that WeightFormat lacks, which it names.
    GgufFile(std::span<const std::byte> bytes, std::string path);

    const std::string& path() const { return path_; }
    const StoredTensors& tensors() const { return tensors_; }
    std::size_t header_bytes() const { return header_bytes_; }  // up to the data of the first tensor

    // Returns the value of a key; nothing if the file lacks the key. T: as in value_as(). Throws FileError if
    // the value has another type.
    template <class T>
    std::optional<T> find(std::string_view key) const;

  private:
    void read_metadata(ByteCursor& cursor, std::uint64_t count);
    GgufValue read_value(ByteCursor& cursor, GgufType type, std::string_view key) const;
    GgufArray read_array(ByteCursor& cursor, std::string_view key) const;
    void read_tensor_table(ByteCursor& cursor, std::uint64_t count);
    void place_tensors(std::span<const std::byte> bytes);
    [[noreturn]] void fail(const std::string& message) const;
    [[noreturn]] void fail_wrong_kind(std::string_view key) const;

    std::string path_;
    std::map<std::string_view, GgufValue, std::less<>> metadata_;
    StoredTensors tensors_;  // until place_tensors(), `offset` counts from the beginning of the data
    std::size_t header_bytes_ = 0;
};

template <class T>
std::optional<T> GgufFile::find(std::string_view key) const {
    const auto found = metadata_.find(key);
    if (found == metadata_.end()) return std::nullopt;
    const std::optional<T> value = value_as<T>(found->second);
    if (!value) fail_wrong_kind(key);
    return value;
}

}  // namespace voltpile::llm
