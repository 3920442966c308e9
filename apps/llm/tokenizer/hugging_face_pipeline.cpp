#include "llm/tokenizer/hugging_face_pipeline.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/tokenizer/pre_tokenizer_patterns.h"

namespace voltpile::llm {

namespace {

using nlohmann::json;

[[noreturn]] void fail(std::string_view path, std::string_view stage, std::string_view problem) {
    throw JobError(fmt::format("{}: {}: {}", path, stage, problem));
}

[[noreturn]] void fail_unsupported(std::string_view path, std::string_view stage, std::string_view type,
                                   std::string_view supported) {
    fail(path, stage, fmt::format("\"{}\" is not supported; supported are {}", type, supported));
}

// The stages of a field: none, one, or the members of a Sequence.
std::vector<json> stages_of(const json& field, const char* members) {
    if (field.is_null()) return {};
    if (field.at("type") != "Sequence") return {field};
    std::vector<json> stages;
    for (const json& member : field.at(members)) {
        const std::vector<json> inner = stages_of(member, members);
        stages.insert(stages.end(), inner.begin(), inner.end());
    }
    return stages;
}

// A literal text as a regular expression.
std::string quoted(const std::string& text) {
    std::string pattern;
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x80 && !std::isalnum(static_cast<unsigned char>(c)))
            pattern += '\\';
        pattern += c;
    }
    return pattern;
}

std::string split_pattern(const json& split, std::string_view path) {
    const std::string behavior = split.at("behavior");
    const bool inverted = split.value("invert", false);
    // Inverted, the removed delimiters are what the pattern does not match: nothing, as it matches
    // everything.
    if (behavior != "Isolated" && !(behavior == "Removed" && inverted))
        fail_unsupported(path, "pre_tokenizer: behavior of Split", behavior, "Isolated");
    const json& pattern = split.at("pattern");
    return pattern.contains("Regex") ? pattern.at("Regex").get<std::string>() : quoted(pattern.at("String"));
}

void read_metaspace(const json& metaspace, Vocabulary& vocabulary, std::string_view path) {
    constexpr std::string_view kStage = "pre_tokenizer: Metaspace";
    if (metaspace.value("replacement", std::string(kSpaceMark)) != kSpaceMark)
        fail(path, kStage, "a replacement other than U+2581 is not supported");
    const bool old_prefix = metaspace.value("add_prefix_space", true);  // before there was a scheme
    const std::string scheme = metaspace.value("prepend_scheme", old_prefix ? "always" : "never");
    if (scheme == "always") {
        vocabulary.space_prefix = SpacePrefix::Missing;
    } else if (scheme == "first") {
        vocabulary.space_prefix = SpacePrefix::AtStart;
    } else if (scheme != "never") {
        fail_unsupported(path, kStage, scheme, "always, first, never");
    }
    vocabulary.split_at_space_marks = metaspace.value("split", true);
}

void add_ids(const json& special_tokens, const std::string& name, std::vector<TokenId>& ids,
             const Vocabulary& vocabulary, std::string_view path) {
    for (const json& id : special_tokens.at(name).at("ids")) {
        const auto number = id.get<std::int64_t>();
        if (number < 0 || number >= static_cast<std::int64_t>(vocabulary.texts.size()))
            fail(path, "post_processor", fmt::format("id {} is not a token", number));
        ids.push_back(static_cast<TokenId>(number));
    }
}

}  // namespace

void read_normalizer(const json& normalizer, Vocabulary& vocabulary, std::string_view path) {
    for (const json& stage : stages_of(normalizer, "normalizers")) {
        const std::string type = stage.at("type");
        if (type == "NFC") {
            vocabulary.nfc = true;
        } else if (type == "Prepend" && stage.at("prepend") == kSpaceMark) {
            vocabulary.space_prefix = SpacePrefix::Always;
            vocabulary.prefix_is_normalization = true;
        } else if (type == "Replace" && stage.at("pattern").value("String", "") == " " &&
                   stage.at("content") == kSpaceMark) {
            vocabulary.prefix_is_normalization = true;
        } else {
            fail_unsupported(path, "normalizer", type,
                             "NFC, Prepend of U+2581, Replace of a space by U+2581");
        }
    }
}

void read_pre_tokenizer(const json& pre_tokenizer, Vocabulary& vocabulary, std::string_view path) {
    vocabulary.kind = VocabularyKind::SentencePieceBpe;
    for (const json& stage : stages_of(pre_tokenizer, "pretokenizers")) {
        const std::string type = stage.at("type");
        if (type == "Split") {
            vocabulary.split_patterns.push_back(split_pattern(stage, path));
        } else if (type == "Digits") {
            const bool each = stage.value("individual_digits", false);
            vocabulary.split_patterns.emplace_back(each ? R"(\p{N})" : R"(\p{N}+)");
        } else if (type == "ByteLevel") {
            if (stage.value("add_prefix_space", true))
                fail(path, "pre_tokenizer: ByteLevel", "add_prefix_space is not supported");
            vocabulary.kind = VocabularyKind::ByteLevelBpe;
            if (stage.value("use_regex", true)) vocabulary.split_patterns.emplace_back(kGpt2Pattern);
        } else if (type == "Metaspace") {
            read_metaspace(stage, vocabulary, path);
        } else {
            fail_unsupported(path, "pre_tokenizer", type, "Split, Digits, ByteLevel, Metaspace");
        }
    }
}

bool read_post_processor(const json& post_processor, Vocabulary& vocabulary, std::string_view path) {
    bool has_template = false;
    for (const json& stage : stages_of(post_processor, "processors")) {
        const std::string type = stage.at("type");
        if (type == "ByteLevel") continue;  // changes offsets only
        if (type != "TemplateProcessing")
            fail_unsupported(path, "post_processor", type, "ByteLevel, TemplateProcessing");
        has_template = true;
        std::vector<TokenId>* ids = &vocabulary.prefix;
        for (const json& item : stage.at("single")) {
            if (item.contains("Sequence")) {
                ids = &vocabulary.suffix;
            } else {
                add_ids(stage.at("special_tokens"), item.at("SpecialToken").at("id"), *ids, vocabulary, path);
            }
        }
    }
    return has_template;
}

void read_decoder(const json& decoder, Vocabulary& vocabulary) {
    for (const json& stage : stages_of(decoder, "decoders")) {
        const bool strips =
            stage.at("type") == "Strip" && stage.value("content", "") == " " && stage.value("start", 0) > 0;
        const bool metaspace =
            stage.at("type") == "Metaspace" && vocabulary.space_prefix != SpacePrefix::Never;
        if (strips || metaspace) vocabulary.drop_first_space = true;
    }
}

}  // namespace voltpile::llm
