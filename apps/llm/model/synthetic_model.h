// A model of a true shape with random weights: for benchmarks, planning and tests, without a download.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "llm/model/model_source.h"
#include "llm/model/quant_mixture.h"

namespace voltpile::llm {

// Weights are made when read, the same for the same shape, mixture, seed and place, whatever part is read by
// whom. Rows have standard deviation 1/sqrt(columns), so that activations keep their size from layer to
// layer.
class SyntheticModel : public ModelSource {
  public:
    // Throws JobError for shapes and mixtures that there are not.
    SyntheticModel(std::string_view shape, std::string_view mixture, std::uint64_t seed = 1);

    void read(const ModelTensor& tensor, const TensorSlice& slice, std::byte* out) const override;
    std::string fingerprint() const override;

    QuantMixture mixture() const { return mixture_; }

    // As a GGUF file, which other programs read too. Its tokenizer (SentencePiece kind: bytes, and words to
    // fill the vocabulary) takes every text. Asks every few megabytes whether to stop, and throws Error then;
    // throws FileError, and MachineError while another process writes it. Then nothing of it is left.
    void write_gguf(const std::string& path, const std::function<bool()>& stop = [] { return false; }) const;

  private:
    SyntheticModel(ModelConfig config, std::string_view shape, QuantMixture mixture, std::uint64_t seed);

    std::string shape_;
    QuantMixture mixture_;
    std::uint64_t seed_;
};

}  // namespace voltpile::llm
