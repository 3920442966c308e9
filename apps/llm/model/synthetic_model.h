// A model with the shape of a real one and random weights: for benchmarks, plans and tests without a
// download.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "llm/model/model_source.h"
#include "llm/model/quant_mixture.h"

namespace voltpile::llm {

// Generates weights when they are read. They depend only on shape, mixture, seed and place, so all ranks see
// the same weights, whichever part they read. Rows have standard deviation 1/sqrt(columns), so that
// activations keep their magnitude from layer to layer.
class SyntheticModel : public ModelSource {
  public:
    // Throws JobError for unknown shapes and mixtures.
    SyntheticModel(std::string_view shape, std::string_view mixture, std::uint64_t seed = 1);

    void read(const ModelTensor& tensor, const TensorSlice& slice, std::byte* out) const override;
    std::string fingerprint() const override;

    QuantMixture mixture() const { return mixture_; }

    // Writes a GGUF file, which other programs read too. Its tokenizer, of the SentencePiece kind with bytes
    // and words to fill the vocabulary, encodes every text. Calls `stop` every few megabytes and throws Error
    // if it returns true. Throws FileError, and MachineError while another process writes the file. Leaves
    // nothing behind then.
    void write_gguf(
        const std::string& path, const std::function<bool()>& stop = [] { return false; }) const;

  private:
    SyntheticModel(ModelConfig config, std::string_view shape, QuantMixture mixture, std::uint64_t seed);

    std::string shape_;
    QuantMixture mixture_;
    std::uint64_t seed_;
};

// Whether `path` is a GGUF file that SyntheticModel::write_gguf() wrote. Returns false for files that it
// cannot read.
bool is_synthetic_gguf(const std::filesystem::path& path);

}  // namespace voltpile::llm
