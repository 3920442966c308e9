// The metadata of a GGUF file as bytes, for copies of the file.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

// Key, type and value as in the file.
struct GgufEntry {
    std::string_view key;
    std::span<const std::byte> bytes;
};

// Returns all entries in the order of the file. bytes: the whole file, which a GgufFile has checked. path:
// for messages.
std::vector<GgufEntry> gguf_entries(std::span<const std::byte> bytes, const std::string& path);

}  // namespace voltpile::llm
