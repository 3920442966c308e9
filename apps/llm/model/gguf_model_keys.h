// Writes a model's description as GGUF metadata, under the keys that gguf_config.h reads.
#pragma once

#include <cstdint>
#include <string>

#include "llm/model/gguf_writer.h"
#include "llm/model/model_config.h"

namespace voltpile::llm {

// Writes keys of one architecture. Their names are given without it.
class GgufKeyWriter {
  public:
    // file: must outlive this object.
    GgufKeyWriter(std::string_view architecture, GgufWriter& file)
        : file_(file), prefix_(std::string(architecture) + ".") {}

    void integer(std::string_view key, std::int64_t value) { add(key, static_cast<std::uint32_t>(value)); }
    void real(std::string_view key, double value) { add(key, static_cast<float>(value)); }
    void flag(std::string_view key, bool value) { add(key, value); }
    void text(std::string_view key, std::string_view value) { add(key, value); }

  private:
    template <class T>
    void add(std::string_view key, T value) {
        file_.add(prefix_ + std::string(key), value);
    }

    GgufWriter& file_;
    std::string prefix_;
};

// Adds general.architecture, the sizes, RoPE and experts of the model, and what only its family has. The
// factors of Llama 3's scaling and of longrope are tensors. Not all of a description has keys: see
// lost_in_gguf().
void add_model_keys(const ModelConfig& config, GgufWriter& file);

}  // namespace voltpile::llm
