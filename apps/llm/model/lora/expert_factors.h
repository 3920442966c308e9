// The factors that PEFT writes for a parameter with the matrices of all experts of a layer, as transformers 5
// has them (target_parameters): lora_A is (experts * rank, one side), lora_B (other side, rank * experts);
// rank k of expert e is row e * rank + k of lora_A and column k * experts + e of lora_B. PEFT names them
// after the module: MODULE.experts, and MODULE.experts.base_layer for a second parameter of the same module.
// Their shapes say which parameter it is, gate_up_proj or down_proj.
//
// Since PEFT 0.19.1, the columns of lora_A are the inputs of the experts. Earlier versions turn the factors
// around for some models: the columns of lora_A are then outputs. The shapes say which, but for a parameter
// with as many inputs as outputs; then those of the other parameter do, because an adapter has one layout.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/model/lora/lora_factors.h"
#include "llm/model/model_config.h"

namespace voltpile::llm {

// The factors of one module, as files name it.
struct ModuleFactors {
    std::optional<StoredTensor> a, b;
};

struct ExpertParameter {
    std::string name;  // "model.layers.3.mlp.experts.gate_up_proj"
    std::int64_t layer = 0;
    bool down = false;  // otherwise gate and up
    int rank = 0;
    bool turned = false;  // lora_A has outputs as columns
    StoredTensor a, b;
};

// Takes the factors of such parameters out of `modules`. Adds to `problems` those that do not fit the model.
std::vector<ExpertParameter> take_expert_parameters(std::map<std::string, ModuleFactors>& modules,
                                                    const ModelConfig& config,
                                                    std::vector<std::string>& problems);

// Returns the factors of one matrix. kind: "ffn_gate", "ffn_up" or "ffn_down", one that the parameter has.
LoraFactors factors_of_expert(const ExpertParameter& parameter, const ModelConfig& config,
                              std::string_view kind, std::int64_t expert, double scale);

}  // namespace voltpile::llm
