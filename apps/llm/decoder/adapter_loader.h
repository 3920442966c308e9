// Loads a rank's share of the factors of a model's adapters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "llm/decoder/weight_loader.h"

namespace voltpile::llm {

// Loads the factors for matrices of a layer that multiply the same input, cut as the matrices themselves.
// names: without the layer, in the order of their outputs. Returns nullptr if no adapter changes any of them.
// Throws FileError for factors that are not finite.
std::unique_ptr<AdapterWeights> load_adapters(const WeightLoader& loader, int layer,
                                              const std::vector<std::string>& names);

// The same for matrices of each expert that the rank has: of kinds "ffn_gate", "ffn_up" and "ffn_down". For
// Ops::adapt_experts() and Ops::add_expert_adapters().
std::unique_ptr<AdapterWeights> load_expert_adapters(const WeightLoader& loader, int layer,
                                                     const std::vector<std::string>& kinds);

}  // namespace voltpile::llm
