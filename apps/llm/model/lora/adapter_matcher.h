// Matches the modules of an adapter with the matrices of a model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/model/lora/expert_factors.h"
#include "llm/model/lora/lora_factors.h"
#include "llm/model/model_source.h"

namespace voltpile::llm {

// Whether adapters can change this matrix of a model.
bool can_adapt(const ModelConfig& config, const ModelTensor& tensor);

class AdapterMatcher {
  public:
    using Factors = std::map<std::string, LoraFactors, std::less<>>;  // by canonical name of the matrix

    // gguf: the form of the adapter, whose names and order of rows differ. Adds to `problems` what does not
    // fit. Both references must outlive this object.
    AdapterMatcher(const ModelSource& model, bool gguf, std::vector<std::string>& problems);

    // Adds the factors of a module to those of the matrices that it is in the model.
    void add(const std::string& module, const ModuleFactors& halves, double scale, Factors& factors);
    // The same for the factors of a parameter of all experts in a folder.
    void add(const ExpertParameter& parameter, double scale, Factors& factors);

  private:
    // Adds the factors of a matrix. Reports it and returns false if there are some already.
    bool put(const std::string& module, const std::string& matrix, LoraFactors found, Factors& factors);
    void report(const std::string& module, const std::string& what);
    bool usable(const std::string& module, double scale);
    bool sound(const std::string& module, const ModuleFactors& halves, std::size_t rank);
    void add_stack(const std::string& module, const ModuleFactors& halves, double scale, Factors& factors);
    bool stacks(const std::string& module) const;
    const ModelTensor* find(const std::string& name) const;
    std::vector<const ModelTensor*> matrices_of(const std::string& name, std::size_t rows) const;
    std::pair<std::vector<const ModelTensor*>, std::size_t> parts_of(const std::string& name) const;
    std::string reason_of(const std::string& name, std::size_t rows) const;
    bool fits(const std::string& module, const LoraFactors& factors, const ModelTensor& matrix, bool whole);
    LoraRows order_of(const ModelTensor& matrix) const;

    const ModelSource& model_;
    bool gguf_;
    std::vector<std::string>& problems_;
    std::map<std::string_view, const ModelTensor*> by_name_;
};

}  // namespace voltpile::llm
