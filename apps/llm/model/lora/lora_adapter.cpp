#include "llm/model/lora/lora_adapter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "job/fingerprint.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/lora/adapter_matcher.h"
#include "llm/model/lora/expert_factors.h"
#include "llm/model/lora/peft_config.h"
#include "llm/model/model_family.h"
#include "llm/model/safetensors_file.h"

namespace voltpile::llm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostReported = 8;  // in one message
using Modules = std::map<std::string, ModuleFactors>;

// Takes `ending` off the end of `name`; returns whether it was there.
bool cut_end(std::string_view& name, std::string_view ending) {
    if (!name.ends_with(ending)) return false;
    name.remove_suffix(ending.size());
    return true;
}

// Returns the factors by module. PEFT names them base_model.model.MODULE.lora_A.weight; llama.cpp
// TENSOR.lora_a.
Modules modules_of(const StoredTensors& tensors, bool gguf, std::vector<std::string>& problems) {
    Modules modules;
    for (const auto& [stored_name, tensor] : tensors) {
        std::string_view module = stored_name;
        constexpr std::string_view kPrefix = "base_model.model.";
        if (!gguf && module.starts_with(kPrefix)) module.remove_prefix(kPrefix.size());
        if (!gguf && cut_end(module, ".weight")) cut_end(module, ".default");
        const bool a = cut_end(module, gguf ? ".lora_a" : ".lora_A");
        const bool b = !a && cut_end(module, gguf ? ".lora_b" : ".lora_B");
        if (!a && !b) {
            problems.push_back(fmt::format("{} is not a factor of a matrix, which is not supported",
                                           printable(stored_name)));
            continue;
        }
        ModuleFactors& halves = modules[std::string(module)];
        std::optional<StoredTensor>& half = a ? halves.a : halves.b;
        if (half)
            problems.push_back(fmt::format("{} is a second factor {} of {}", printable(stored_name),
                                           a ? 'A' : 'B', printable(module)));
        half = tensor;
    }
    return modules;
}

[[noreturn]] void fail(const AdapterChoice& choice, const std::string& message) {
    throw FileError(fmt::format("adapter {} ({}): {}", printable(choice.name), choice.path, message),
                    ExitCode::BadInput);
}

TensorFiles open_factors(const AdapterChoice& choice, const ModelSource& model) {
    if (!fs::exists(choice.path)) fail(choice, "it does not exist");
    if (!fs::is_directory(choice.path)) {
        TensorFiles files = open_gguf(choice.path);
        if (files.gguf->find<std::string_view>("general.type").value_or("") != "adapter" ||
            files.gguf->find<std::string_view>("adapter.type").value_or("") != "lora")
            fail(choice, "it is a GGUF file of something else than a LoRA adapter");
        const auto of_adapter = files.gguf->find<std::string_view>("general.architecture").value_or("");
        if (of_adapter != model.config().family->architecture)
            fail(choice, fmt::format("it is for models of architecture {}, and this one is of {}",
                                     of_adapter.empty() ? "unknown" : printable(of_adapter),
                                     model.config().family->architecture));
        if (!std::isfinite(files.gguf->find<double>("adapter.lora.alpha").value_or(0)))
            fail(choice, "its adapter.lora.alpha is not a number");
        return files;
    }
    const fs::path folder = choice.path;
    const fs::path path = folder / "adapter_model.safetensors";
    if (!fs::exists(path))
        fail(choice, fs::exists(folder / "adapter_model.bin")
                         ? "it has the adapter as a PyTorch pickle (.bin) only: convert it to safetensors"
                         : "it has no adapter_model.safetensors");
    TensorFiles files;
    files.files.push_back(std::make_unique<MappedFile>(path));
    const SafetensorsFile file(files.files.back()->bytes(), path);
    files.add(file.tensors(), file.header_bytes());
    files.folder = choice.path;
    return files;
}

// Reports modules and parameters of another rank than the description says, and targets without factors.
void check_described(const Modules& modules, const std::vector<ExpertParameter>& parameters,
                     const PeftConfig& config, std::vector<std::string>& problems) {
    const auto check_rank = [&](const std::string& name, int rank) {
        if (rank != config.rank_of_module(name))
            problems.push_back(fmt::format("{} has rank {} where adapter_config.json says {}",
                                           printable(name), rank, config.rank_of_module(name)));
    };
    std::vector<std::string> names, of_parameters;
    for (const auto& [module, halves] : modules) {
        names.push_back(module);
        of_parameters.push_back(module + ".weight");  // of a router
        if (halves.a) check_rank(module, static_cast<int>(halves.a->rows));
    }
    for (const ExpertParameter& parameter : parameters) {
        of_parameters.push_back(parameter.name);
        check_rank(parameter.name, parameter.rank);
    }
    const auto check_targets = [&](const char* kind, const std::vector<std::string>& targets,
                                   const std::vector<std::string>& with_factors) {
        for (const std::string& target : targets)
            if (target != "all-linear" && std::ranges::none_of(with_factors, [&](const std::string& name) {
                    return module_matches(name, target);
                }))
                problems.push_back(fmt::format("the target {} {} has no factors", kind, printable(target)));
    };
    check_targets("module", config.modules, names);
    check_targets("parameter", config.parameters, of_parameters);
}

}  // namespace

AdapterChoice adapter_choice(std::string_view text) {
    const std::size_t sign = text.find('=');
    AdapterChoice choice;
    if (sign != std::string_view::npos)
        choice = {std::string(text.substr(0, sign)), std::string(text.substr(sign + 1))};
    if (choice.name.empty() || choice.path.empty())
        throw JobError(fmt::format("the adapter \"{}\" must be NAME=FOLDER", printable(text)));
    return choice;
}

std::vector<AdapterChoice> adapter_choices(const std::vector<std::string>& texts) {
    std::vector<AdapterChoice> choices;
    std::set<std::string> names;
    for (const std::string& text : texts) {
        choices.push_back(adapter_choice(text));
        if (!names.insert(choices.back().name).second)
            throw JobError(fmt::format("two adapters have the name {}", printable(choices.back().name)));
    }
    if (choices.size() > kMostAdapters)
        throw JobError(fmt::format("{} adapters: the most is {}", choices.size(), kMostAdapters));
    return choices;
}

LoraAdapter::LoraAdapter(const AdapterChoice& choice, const ModelSource& model)
    : name_(choice.name), files_(open_factors(choice, model)) {
    const bool gguf = files_.gguf != nullptr;
    std::vector<std::string> problems;
    Modules modules = modules_of(files_.tensors, gguf, problems);
    const bool empty = modules.empty();
    std::vector<ExpertParameter> parameters;
    PeftConfig config;
    if (gguf) {
        config.alpha = files_.gguf->find<double>("adapter.lora.alpha").value_or(0);
    } else {
        config = read_peft_config(files_.folder);
        parameters = take_expert_parameters(modules, model.config(), problems);
        check_described(modules, parameters, config, problems);
    }
    AdapterMatcher matcher(model, gguf, problems);
    for (const auto& [module, halves] : modules) {
        const double rank = halves.b ? static_cast<double>(halves.b->columns) : 1;
        const double scale = !gguf               ? config.scale_of_module(module)
                             : config.alpha == 0 ? 1
                                                 : config.alpha / rank;
        matcher.add(module, halves, scale, factors_);
    }
    for (const ExpertParameter& parameter : parameters)
        matcher.add(parameter, config.scale_of_module(parameter.name), factors_);
    if (empty) problems.emplace_back("it has no factors");
    summarize(model);
    if (problems.empty()) return;
    const std::size_t count = problems.size();
    problems.resize(std::min(count, kMostReported));
    fail(choice,
         fmt::format("it does not fit this {} model with {} layers; is it an adapter of another one? {}{}",
                     model.config().family->name, model.config().layers, fmt::join(problems, "; "),
                     count > kMostReported ? fmt::format("; and {} more", count - kMostReported) : ""));
}

void LoraAdapter::summarize(const ModelSource& model) {
    for (const auto& [name, factors] : factors_) {
        rank_ = std::max(rank_, factors.rank);
        if (model.tensor(name).expert < 0) continue;
        changes_experts_ = true;
        changes_expert_gates_ |= name.find(".ffn_down.") == std::string::npos;
    }
}

const LoraFactors* LoraAdapter::factors(std::string_view tensor) const {
    const auto found = factors_.find(tensor);
    return found == factors_.end() ? nullptr : &found->second;
}

// Covers two samples of each tensor.
std::string LoraAdapter::fingerprint() const {
    constexpr std::size_t kSample = 4096;
    std::string text;
    std::set<const std::byte*> shared;  // that have been sampled
    for (const auto& [tensor, factors] : factors_) {
        text += fmt::format("{} {} {} {:.17g}\n", tensor, factors.rank,
                            factors.b.first / factors.b.tensor.columns, factors.scale);
        for (const StoredTensor* each : {&factors.a.tensor, &factors.b.tensor}) {
            if (factors.shared && !shared.insert(each->data).second) continue;
            const std::size_t size = std::min<std::size_t>(each->bytes, kSample);
            for (const std::size_t at : {std::size_t{0}, (each->bytes - size) / 2})
                text.append(reinterpret_cast<const char*>(each->data + at), size);
        }
    }
    return hash_128(text);
}

}  // namespace voltpile::llm
