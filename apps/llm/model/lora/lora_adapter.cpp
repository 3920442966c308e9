#include "llm/model/lora/lora_adapter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "job/fingerprint.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/fused_tensors.h"
#include "llm/model/lora/peft_config.h"
#include "llm/model/model_family.h"
#include "llm/model/safetensors_file.h"
#include "llm/model/tensor_names.h"

namespace voltpile::llm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostReported = 8;  // in one message
constexpr std::array<std::string_view, 7> kAdaptable = {
    "attn_q.weight",   "attn_k.weight", "attn_v.weight",  "attn_output.weight",
    "ffn_gate.weight", "ffn_up.weight", "ffn_down.weight"};

// The factors of one module, as files name it.
struct Halves {
    std::optional<StoredTensor> a, b;
};
using Modules = std::map<std::string, Halves>;

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
        if (a || b)
            (a ? modules[std::string(module)].a : modules[std::string(module)].b) = tensor;
        else
            problems.push_back(fmt::format("{} is not a factor of a matrix, which is not supported",
                                           printable(stored_name)));
    }
    return modules;
}

// Matches the modules of an adapter with the matrices of a model.
class Matcher {
  public:
    Matcher(const ModelSource& model, bool gguf, std::vector<std::string>& problems)
        : model_(model), gguf_(gguf), problems_(problems) {
        for (const ModelTensor& tensor : model.tensors()) by_name_.emplace(tensor.name, &tensor);
    }

    // Adds the factors of a module under the names of the matrices that it is in the model.
    void add(const std::string& module, const Halves& halves, double scale,
             std::map<std::string, LoraFactors, std::less<>>& factors) {
        if (!halves.a || !halves.b)
            return report(module, fmt::format("has only lora_{}", halves.a ? "A" : "B"));
        LoraFactors found{*halves.a, *halves.b, 0, LoraRows::Same, scale};
        if (found.a.element != StoredType::Weight || found.b.element != StoredType::Weight)
            return report(module, "has factors that are not in F32, F16 or BF16");
        if (found.a.rows > static_cast<std::size_t>(kMostLoraRank))
            return report(module, fmt::format("has rank {}, the most is {}", found.a.rows, kMostLoraRank));
        if (found.b.columns != found.a.rows)
            return report(module, fmt::format("has lora_A of rank {} and lora_B of rank {}", found.a.rows,
                                              found.b.columns));
        const std::vector<const ModelTensor*> matrices = matrices_of(module, found.b.rows);
        if (matrices.empty())
            return report(module,
                          "is not one of the model's matrices that an adapter can change (those of "
                          "attention and of a dense feed-forward part)");
        for (const ModelTensor* matrix : matrices) {
            if (!fits(module, found, *matrix, matrices.size() == 1)) return;
            found.order = order_of(*matrix);
            factors.emplace(matrix->name, found);
            found.first_row += matrix->rows;
        }
    }

  private:
    void report(const std::string& module, const std::string& what) {
        problems_.push_back(fmt::format("{} {}", printable(module), what));
    }

    const ModelTensor* find(const std::string& name) const {
        const auto found = by_name_.find(name);
        if (found == by_name_.end() || found->second->layer < 0) return nullptr;
        const std::string_view end = std::string_view(name).substr(name.find('.', 4) + 1);  // after "blk.N."
        // The decoder does not adapt the projections of latent attention.
        if (model_.config().latent.kv_rank > 0 && end == "attn_q.weight") return nullptr;
        return std::ranges::find(kAdaptable, end) == kAdaptable.end() ? nullptr : found->second;
    }

    // Returns the model's matrix, or the parts of a fused one, in their order.
    std::vector<const ModelTensor*> matrices_of(const std::string& module, std::size_t rows) const {
        const std::string name = gguf_ ? module : canonical_name(module + ".weight", *model_.config().family);
        const ModelTensor* const matrix = find(name);
        if (matrix != nullptr && matrix->rows == rows) return {matrix};
        std::vector<const ModelTensor*> parts;
        std::size_t rows_of_parts = 0;
        for (const std::string& part : parts_of_fused(name)) {
            parts.push_back(find(part));
            rows_of_parts += parts.back() != nullptr ? parts.back()->rows : 0;
        }
        if (rows_of_parts == rows && std::ranges::find(parts, nullptr) == parts.end()) return parts;
        return matrix != nullptr ? std::vector{matrix} : std::vector<const ModelTensor*>();
    }

    bool fits(const std::string& module, const LoraFactors& factors, const ModelTensor& matrix, bool whole) {
        if (factors.a.columns == matrix.columns && (!whole || factors.b.rows == matrix.rows)) return true;
        report(module, fmt::format("is for a matrix of {} x {} where the model has {} x {}", factors.b.rows,
                                   factors.a.columns, matrix.rows, matrix.columns));
        return false;
    }

    // In GGUF files, queries and keys of families with interleaved RoPE are not in the order of folders.
    LoraRows order_of(const ModelTensor& matrix) const {
        const ModelConfig& config = model_.config();
        const RopeStyle of_adapter = gguf_ ? config.family->rope_in_gguf : config.family->rope_in_folder;
        const bool rotated = matrix.name.ends_with("attn_q.weight") || matrix.name.ends_with("attn_k.weight");
        if (!rotated || of_adapter == config.rope_style) return LoraRows::Same;
        return config.rope_style == RopeStyle::Interleaved ? LoraRows::ToPairs : LoraRows::ToHalves;
    }

    const ModelSource& model_;
    bool gguf_;
    std::vector<std::string>& problems_;
    std::map<std::string_view, const ModelTensor*> by_name_;
};

[[noreturn]] void fail(const AdapterChoice& choice, const std::string& message) {
    throw FileError(fmt::format("adapter {} ({}): {}", printable(choice.name), choice.path, message),
                    ExitCode::BadInput);
}

TensorFiles open_factors(const AdapterChoice& choice) {
    if (!fs::exists(choice.path)) fail(choice, "it does not exist");
    if (!fs::is_directory(choice.path)) {
        TensorFiles files = open_gguf(choice.path);
        if (files.gguf->find<std::string_view>("general.type").value_or("") != "adapter" ||
            files.gguf->find<std::string_view>("adapter.type").value_or("") != "lora")
            fail(choice, "it is a GGUF file of something else than a LoRA adapter");
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

// Reports modules of another rank than the description says, and targets without any module.
void check_described(const Modules& modules, const PeftConfig& config, std::vector<std::string>& problems) {
    for (const auto& [module, halves] : modules)
        if (halves.a && static_cast<int>(halves.a->rows) != config.rank_of_module(module))
            problems.push_back(fmt::format("{} has rank {} where adapter_config.json says {}",
                                           printable(module), halves.a->rows, config.rank_of_module(module)));
    for (const std::string& target : config.targets)
        if (target != "all-linear" && std::ranges::none_of(modules, [&](const auto& each) {
                return module_matches(each.first, target);
            }))
            problems.push_back(fmt::format("the target module {} has no factors", printable(target)));
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
    : name_(choice.name), files_(open_factors(choice)) {
    const bool gguf = files_.gguf != nullptr;
    std::vector<std::string> problems;
    const Modules modules = modules_of(files_.tensors, gguf, problems);
    PeftConfig config;
    if (gguf) {
        config.alpha = files_.gguf->find<double>("adapter.lora.alpha").value_or(0);
    } else {
        config = read_peft_config(files_.folder);
        check_described(modules, config, problems);
    }
    Matcher matcher(model, gguf, problems);
    for (const auto& [module, halves] : modules) {
        const double rank = halves.a ? static_cast<double>(halves.a->rows) : 1;
        const double scale = !gguf               ? config.scale_of_module(module)
                             : config.alpha == 0 ? 1
                                                 : config.alpha / rank;
        matcher.add(module, halves, scale, factors_);
    }
    if (modules.empty()) problems.emplace_back("it has no factors");
    for (const auto& [tensor, factors] : factors_) rank_ = std::max(rank_, factors.rank());
    if (problems.empty()) return;
    const std::size_t count = problems.size();
    problems.resize(std::min(count, kMostReported));
    fail(choice,
         fmt::format("it does not fit this {} model with {} layers; is it an adapter of another one? {}{}",
                     model.config().family->name, model.config().layers, fmt::join(problems, "; "),
                     count > kMostReported ? fmt::format("; and {} more", count - kMostReported) : ""));
}

const LoraFactors* LoraAdapter::factors(std::string_view tensor) const {
    const auto found = factors_.find(tensor);
    return found == factors_.end() ? nullptr : &found->second;
}

std::size_t LoraAdapter::row_in_b(const LoraFactors& factors, std::size_t row, std::size_t head_dim) {
    const std::size_t in_head = row % head_dim, half = head_dim / 2;
    std::size_t other = in_head;
    if (factors.order == LoraRows::ToPairs) other = in_head / 2 + in_head % 2 * half;
    if (factors.order == LoraRows::ToHalves) other = in_head % half * 2 + in_head / half;
    return factors.first_row + row - in_head + other;
}

// Covers two samples of each factor.
std::string LoraAdapter::fingerprint() const {
    constexpr std::size_t kSample = 4096;
    std::string text;
    for (const auto& [tensor, factors] : factors_) {
        text += fmt::format("{} {} {} {:.17g}\n", tensor, factors.rank(), factors.first_row, factors.scale);
        for (const StoredTensor* each : {&factors.a, &factors.b}) {
            const std::size_t size = std::min<std::size_t>(each->bytes, kSample);
            for (const std::size_t at : {std::size_t{0}, (each->bytes - size) / 2})
                text.append(reinterpret_cast<const char*>(each->data + at), size);
        }
    }
    return hash_128(text);
}

}  // namespace voltpile::llm
