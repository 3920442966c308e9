// Reads adapter_config.json, in which PEFT describes an adapter.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

struct PeftConfig {
    int rank = 0;
    double alpha = 0;
    bool rank_stabilized = false;            // the scale is alpha / sqrt(r) instead of alpha / r
    std::map<std::string, int> rank_of;      // of modules that differ: their names, or the ends of them
    std::map<std::string, double> alpha_of;  // the same
    std::vector<std::string> modules;        // ends of the names of targets; empty if they are a pattern
    std::vector<std::string> parameters;     // of modules, the same

    int rank_of_module(std::string_view module) const;
    double scale_of_module(std::string_view module) const;  // of the product of the factors
};

// Whether a module has this name or ends with it, at a dot.
bool module_matches(std::string_view module, std::string_view name);

// Reads a folder's adapter_config.json. Throws FileError, also for what is not supported: other methods than
// LoRA, DoRA, trained biases, and modules that are saved whole.
PeftConfig read_peft_config(const std::string& folder);

}  // namespace voltpile::llm
