// Writes a model as a quantized GGUF file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "llm/model/quant_mixture.h"
#include "llm/quantize/importance.h"
#include "llm/quantize/quantize_input.h"

namespace voltpile::llm {

struct QuantizeSettings {
    QuantMixture mixture{};
    const ImportanceMatrix* importance = nullptr;  // nullptr: none
    std::size_t threads = 1;
    // Called after each few megabytes with the weights done so far; may throw to stop.
    std::function<void(std::uint64_t done)> progress = [](std::uint64_t) {};
};

struct QuantizeResult {
    std::map<WeightFormat, int> tensors;  // matrices by format
    std::uint64_t weights = 0;            // of matrices
    std::uint64_t bytes = 0;              // of all tensors
    double error = 0;   // root of the sum of squared errors over the sum of squared weights, of matrices
    std::string worst;  // the matrix with the largest such error
    double worst_error = 0;
};

// Returns the tensors of the file to write, in their new formats.
std::vector<ModelTensor> quantized_tensors(const QuantizeInput& input, const ModelConfig& config,
                                           const QuantizeSettings& settings);

// Quantizes row by row, a few megabytes at a time, on settings.threads threads, and hands read parts of the
// original back to the kernel: memory holds neither model. Matrices in MXFP4, and those that have their new
// format already, are copied. Throws FileError, and Error for weights that are not finite or too large for
// the format; then `path` is unchanged.
QuantizeResult quantize_model(const QuantizeInput& input, const ModelConfig& config, const std::string& path,
                              const QuantizeSettings& settings);

}  // namespace voltpile::llm
