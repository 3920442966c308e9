// Loads a rank's share of the factors of a model's adapters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "llm/decoder/weight_loader.h"

namespace voltpile::llm {

// Loads the factors for matrices of a layer that multiply the same input, cut as the matrices themselves.
// names: without the layer, in the order of their outputs. Returns nullptr if no adapter changes any of them.
std::unique_ptr<AdapterWeights> load_adapters(const WeightLoader& loader, int layer,
                                              const std::vector<std::string>& names);

}  // namespace voltpile::llm
