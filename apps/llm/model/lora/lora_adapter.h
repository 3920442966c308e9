// A low-rank adapter (LoRA, arXiv:2106.09685) of a model: for some of its matrices W, two factors a and b, so
// that W + b a replaces W. Several adapters can be in use at once, because W stays as it is.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/model/lora/lora_factors.h"
#include "llm/model/model_source.h"
#include "llm/model/tensor_files.h"

namespace voltpile::llm {

// The most that the operations take.
inline constexpr int kMostLoraRank = 256;
inline constexpr std::size_t kMostAdapters = 64;

// An adapter's name in requests, and where it is: a folder as PEFT writes it, or a GGUF file as llama.cpp
// does.
struct AdapterChoice {
    std::string name;
    std::string path;
};

// Reads "NAME=PATH". Throws JobError.
AdapterChoice adapter_choice(std::string_view text);
// Reads a list of them. Throws JobError also for a name that occurs twice and for too many.
std::vector<AdapterChoice> adapter_choices(const std::vector<std::string>& texts);

class LoraAdapter {
  public:
    // Opens the files and checks that the adapter is one of this model: that the model has all matrices that
    // it changes, in these shapes, and that both factors of each are there. Throws FileError.
    LoraAdapter(const AdapterChoice& choice, const ModelSource& model);
    // Makes an adapter of all matrices of the model that adapters can change, except routers, with random
    // numbers, which depend on the name only. All factors share their memory.
    static std::shared_ptr<const LoraAdapter> random(const std::string& name, const ModelSource& model,
                                                     int rank);

    const std::string& name() const { return name_; }
    // Returns the factors of a tensor of the model; nullptr if the adapter leaves it as it is.
    const LoraFactors* factors(std::string_view tensor) const;
    int rank() const { return rank_; }  // the largest
    bool changes_experts() const { return changes_experts_; }
    bool changes_expert_gates() const { return changes_expert_gates_; }  // or up matrices of experts

    // Returns 32 hexadecimal digits of the content: all factors and scales.
    std::string fingerprint() const;

  private:
    explicit LoraAdapter(std::string name) : name_(std::move(name)) {}
    // Sets the members below `factors_` from it.
    void summarize(const ModelSource& model);

    std::string name_;
    std::vector<float> numbers_;  // of random factors
    TensorFiles files_;
    std::map<std::string, LoraFactors, std::less<>> factors_;  // by canonical name
    int rank_ = 0;
    bool changes_experts_ = false, changes_expert_gates_ = false;
};

}  // namespace voltpile::llm
