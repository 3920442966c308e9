#include "llm/model/model_family.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <utility>

#include "llm/model/byte_cursor.h"

namespace voltpile::llm {
namespace {

std::string lower_case(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

}  // namespace

const ModelFamily* family_of_folder(std::string_view model_type) {
    for (const ModelFamily* family : all_families())
        if (!model_type.empty() &&
            (family->model_type == model_type || family->model_type_with_images == model_type))
            return family;
    return nullptr;
}

const ModelFamily* family_of_gguf(std::string_view architecture, std::string_view model_name, bool mixture) {
    const std::string name = lower_case(model_name);
    const ModelFamily* found = nullptr;
    for (const ModelFamily* family : all_families()) {
        if (family->architecture != architecture || family->mixture != mixture) continue;
        const std::string_view word = family->word_in_gguf_name;
        if (word.empty())
            found = family;
        else if (name.find(word) != std::string::npos)
            return family;
    }
    return found;
}

std::string supported_families() {
    std::vector<std::string_view> names;
    for (const ModelFamily* family : all_families()) names.push_back(family->supported);
    return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<bool> each_layer(const ModelConfig& config, bool value) {
    constexpr std::int64_t kMost = 4096;  // check_config() rejects more layers, but runs later
    return std::vector<bool>(static_cast<std::size_t>(std::clamp<std::int64_t>(config.layers, 0, kMost)),
                             value);
}

void set_window(ModelConfig& config, std::int64_t window, std::vector<bool> slides) {
    const bool any = std::ranges::find(slides, true) != slides.end();
    config.sliding_window = any ? window : 0;
    config.layer_slides = any ? std::move(slides) : std::vector<bool>{};
}

void set_dense_begin(ModelConfig& config, std::int64_t count) {
    config.layer_dense = each_layer(config, false);
    const auto dense = std::clamp<std::int64_t>(count, 0, std::ssize(config.layer_dense));
    std::fill_n(config.layer_dense.begin(), dense, true);
    if (dense == 0) config.layer_dense.clear();
}

std::vector<bool> sliding_layers(const JsonKeys& keys, const ModelConfig& config) {
    const nlohmann::json* types = keys.find("layer_types");
    std::vector<bool> slides = each_layer(config, false);
    if (!types || !types->is_array() || types->size() != slides.size()) return {};
    for (std::size_t i = 0; i < slides.size(); ++i) {
        slides[i] = (*types)[i] == "sliding_attention";
        if (!slides[i] && (*types)[i] != "full_attention")
            keys.fail(
                fmt::format("\"layer_types\": {} of layer {} is not supported (supported: "
                            "sliding_attention, full_attention)",
                            printable((*types)[i].dump()), i));
    }
    return slides;
}

}  // namespace voltpile::llm
