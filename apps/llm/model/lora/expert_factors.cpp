#include "llm/model/lora/expert_factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "llm/model/byte_cursor.h"
#include "llm/model/lora/lora_adapter.h"
#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

// Returns the layer of "model.layers.N.mlp.experts", also behind a wrapper; nothing for other modules.
std::optional<std::int64_t> layer_of_experts(std::string_view module) {
    constexpr std::string_view kPrefix = "model.layers.", kWrapper = ".base_layer";
    while (module.ends_with(kWrapper)) module.remove_suffix(kWrapper.size());
    if (!module.starts_with(kPrefix)) return std::nullopt;
    module.remove_prefix(kPrefix.size());
    std::int64_t layer = -1;
    const auto number = std::from_chars(module.data(), module.data() + module.size(), layer);
    module.remove_prefix(static_cast<std::size_t>(number.ptr - module.data()));
    return number.ec == std::errc() && module == ".mlp.experts" ? std::optional(layer) : std::nullopt;
}

// How a parameter could have factors of these shapes.
struct Fit {
    bool down, turned;
};

std::vector<Fit> fits_of(std::uint64_t columns_of_a, std::uint64_t rows_of_b, const ModelConfig& config) {
    const auto hidden = static_cast<std::uint64_t>(config.hidden);
    const auto ffn = static_cast<std::uint64_t>(config.experts.ffn);
    std::vector<Fit> fits;
    for (const bool down : {false, true}) {
        const std::uint64_t inputs = down ? ffn : hidden, outputs = down ? hidden : 2 * ffn;
        if (columns_of_a == inputs && rows_of_b == outputs) fits.push_back({down, false});
        if (columns_of_a == outputs && rows_of_b == inputs && config.experts.count > 1)
            fits.push_back({down, true});
    }
    return fits;
}

std::string obstacle(const ModuleFactors& factors, std::int64_t layer, const ModelConfig& config) {
    if (config.experts.count == 0 || layer < 0 || layer >= config.layers || !has_experts(config, layer))
        return "names experts of a layer without experts";
    if (!factors.a || !factors.b) return fmt::format("has only lora_{}", factors.a ? "A" : "B");
    const StoredTensor &a = *factors.a, &b = *factors.b;
    if (a.element != StoredType::Weight || b.element != StoredType::Weight)
        return "has factors that are not in F32, F16 or BF16";
    const auto experts = static_cast<std::uint64_t>(config.experts.count);
    if (a.rows % experts != 0 || a.rows != b.columns)
        return fmt::format(
            "has {} ranks in lora_A and {} in lora_B, which must be equal and a multiple of the {} experts",
            a.rows, b.columns, experts);
    if (a.rows / experts > static_cast<std::uint64_t>(kMostLoraRank))
        return fmt::format("has rank {}, the most is {}", a.rows / experts, kMostLoraRank);
    if (fits_of(a.columns, b.rows, config).empty())
        return fmt::format(
            "has factors for matrices of {} x {}, where the model's experts have {} x {} (gate and up) and "
            "{} x {}",
            b.rows, a.columns, 2 * config.experts.ffn, config.hidden, config.hidden, config.experts.ffn);
    return "";
}

}  // namespace

std::vector<ExpertParameter> take_expert_parameters(std::map<std::string, ModuleFactors>& modules,
                                                    const ModelConfig& config,
                                                    std::vector<std::string>& problems) {
    struct Found {
        std::string module;
        ExpertParameter parameter;
        std::vector<Fit> fits;
    };
    std::vector<Found> all;
    std::optional<bool> turned;  // of the parameters whose shapes say so
    for (auto at = modules.begin(); at != modules.end();) {
        const auto layer = layer_of_experts(at->first);
        if (!layer) {
            ++at;
            continue;
        }
        const auto [module, factors] = std::move(*at);
        at = modules.erase(at);
        if (const std::string problem = obstacle(factors, *layer, config); !problem.empty()) {
            problems.push_back(fmt::format("{} {}", printable(module), problem));
            continue;
        }
        std::vector<Fit> fits = fits_of(factors.a->columns, factors.b->rows, config);
        const bool down = fits.front().down;
        Found found{
            module,
            {fmt::format("model.layers.{}.mlp.experts.{}", *layer, down ? "down_proj" : "gate_up_proj"),
             *layer, down, static_cast<int>(factors.a->rows) / static_cast<int>(config.experts.count), false,
             *factors.a, *factors.b},
            std::move(fits)};
        if (found.fits.size() == 1) turned = found.fits.front().turned;
        all.push_back(std::move(found));
    }
    std::vector<ExpertParameter> parameters;
    for (Found& each : all) {
        each.parameter.turned = each.fits.size() == 1 ? each.fits.front().turned : turned.value_or(false);
        if (each.fits.size() > 1 && !turned)
            problems.push_back(
                fmt::format("{} has as many inputs as outputs, so that its shapes do not say whether PEFT "
                            "turned the factors around",
                            printable(each.module)));
        else
            parameters.push_back(std::move(each.parameter));
    }
    return parameters;
}

LoraFactors factors_of_expert(const ExpertParameter& parameter, const ModelConfig& config,
                              std::string_view kind, std::int64_t expert, double scale) {
    // The rows of the parameter that the matrix has: row step * j + first.
    std::size_t step = 1, first = 0;
    if (!parameter.down) {
        const bool alternate = config.family->alternates_gate_and_up, up = kind == "ffn_up";
        step = alternate ? 2 : 1;
        first = up ? alternate ? 1 : static_cast<std::size_t>(config.experts.ffn) : 0;
    }
    const auto e = static_cast<std::size_t>(expert), experts = static_cast<std::size_t>(config.experts.count);
    const auto rank = static_cast<std::size_t>(parameter.rank);
    const std::size_t width = parameter.a.columns, ranks = parameter.b.columns;  // of a row
    LoraFactors factors;
    factors.rank = parameter.rank;
    factors.scale = scale;
    factors.shared = true;
    if (parameter.turned) {
        factors.a = {parameter.b, e, experts, ranks};
        factors.b = {parameter.a, e * rank * width + first, step, width};
    } else {
        factors.a = {parameter.a, e * rank * width, width, 1};
        factors.b = {parameter.b, first * ranks + e, step * ranks, experts};
    }
    return factors;
}

}  // namespace voltpile::llm
