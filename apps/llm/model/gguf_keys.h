// Reads keys of a GGUF file's metadata that belong to its architecture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "llm/model/gguf_file.h"

namespace voltpile::llm {

// Keys are without the architecture: "block_count" for "llama.block_count". All methods throw FileError for
// values of another type or out of range.
class GgufKeys {
  public:
    // file, architecture: must outlive this.
    GgufKeys(const GgufFile& file, std::string_view architecture)
        : file_(file), architecture_(architecture) {}

    const GgufFile& file() const { return file_; }
    std::string full(std::string_view key) const;

    std::optional<std::int64_t> find_integer(std::string_view key) const { return find_absolute(full(key)); }
    std::optional<double> find_real(std::string_view key) const { return file_.find<double>(full(key)); }
    std::optional<bool> find_flag(std::string_view key) const { return file_.find<bool>(full(key)); }
    std::optional<std::string_view> find_text(std::string_view key) const {
        return file_.find<std::string_view>(full(key));
    }
    std::int64_t integer(std::string_view key) const;  // throws if the key is absent
    double real(std::string_view key) const;

    // key: with everything before it, such as "tokenizer.ggml.bos_token_id".
    std::optional<std::int64_t> find_absolute(std::string_view key) const;

    [[noreturn]] void fail(const std::string& message) const;

  private:
    const GgufFile& file_;
    std::string_view architecture_;
};

}  // namespace voltpile::llm
