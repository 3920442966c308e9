// Reader of GGUF files, versions 2 and 3, little-endian: metadata and table of tensors.
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
    // Reads the header of a whole file. `bytes` must outlive this object; `path` is for messages. Every
    // count, size, offset and alignment is checked before use: throws FileError that says what is wrong and
    // where, also for tensors in formats other than WeightFormat's, which it names.
    GgufFile(std::span<const std::byte> bytes, std::string path);

    const std::string& path() const { return path_; }
    const StoredTensors& tensors() const { return tensors_; }
    std::size_t header_bytes() const { return header_bytes_; }  // up to the data of the first tensor

    // Nothing if there is no such key. T as in value_as; throws FileError if the value is of another kind.
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
    StoredTensors tensors_;  // `offset` counts from the data's beginning until they are placed
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
