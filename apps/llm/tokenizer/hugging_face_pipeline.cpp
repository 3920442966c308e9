#include "llm/tokenizer/hugging_face_pipeline.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/tokenizer/checked_json.h"
#include "llm/tokenizer/pre_tokenizer_patterns.h"
#include "llm/tokenizer/split_pattern.h"

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

// Returns the stages of a field: none, one, or the members of a Sequence.
std::vector<json> stages_of(const json& field, const char* members, std::string_view where) {
    if (field.is_null()) return {};
    if (required_text(field, "type", where) != "Sequence") return {field};
    std::vector<json> stages;
    for (const json& member : required(field, members, where)) {
        const std::vector<json> inner = stages_of(member, members, where);
        stages.insert(stages.end(), inner.begin(), inner.end());
    }
    return stages;
}

// Escapes a literal for a regular expression.
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
    const std::string where = fmt::format("{}: pre_tokenizer: Split", path);
    const std::string& behavior = required_text(split, "behavior", where);
    const bool inverted = optional_bool(split, "invert", false, where);
    // Inverted, the removed delimiters are what the pattern does not match: nothing, as it matches
    // everything.
    if (behavior != "Isolated" && !(behavior == "Removed" && inverted))
        fail_unsupported(path, "pre_tokenizer: behavior of Split", behavior, "Isolated");
    const json& pattern = required(split, "pattern", where);
    if (!pattern.contains("Regex")) return quoted(required_text(pattern, "String", where + ": \"pattern\""));
    const std::string& regex = required_text(pattern, "Regex", where);
    try {
        SplitPattern check(regex);
    } catch (const JobError& error) {  // which knows no file
        throw JobError(fmt::format("{}: {}", path, error.what()));
    }
    return regex;
}

// Whether a Split divides at spaces that the normalizer has replaced before, so that it does nothing (Gemma).
bool finds_nothing(const json& split, const Vocabulary& vocabulary, std::string_view path) {
    const std::string where = fmt::format("{}: pre_tokenizer: Split", path);
    return vocabulary.prefix_is_normalization &&
           optional_text(required(split, "pattern", where), "String", "", where) == " ";
}

void read_metaspace(const json& metaspace, Vocabulary& vocabulary, std::string_view path) {
    constexpr std::string_view kStage = "pre_tokenizer: Metaspace";
    const std::string where = fmt::format("{}: {}", path, kStage);
    if (optional_text(metaspace, "replacement", kSpaceMark, where) != kSpaceMark)
        fail(path, kStage, "a replacement other than U+2581 is not supported");
    const bool old_prefix =
        optional_bool(metaspace, "add_prefix_space", true, where);  // before there was a scheme
    const std::string scheme =
        optional_text(metaspace, "prepend_scheme", old_prefix ? "always" : "never", where);
    if (scheme == "always") {
        vocabulary.space_prefix = SpacePrefix::Missing;
    } else if (scheme == "first") {
        vocabulary.space_prefix = SpacePrefix::AtStart;
    } else if (scheme != "never") {
        fail_unsupported(path, kStage, scheme, "always, first, never");
    }
    vocabulary.split_at_space_marks = optional_bool(metaspace, "split", true, where);
}

void add_ids(const json& special_tokens, const std::string& name, std::vector<TokenId>& ids,
             const Vocabulary& vocabulary, std::string_view path) {
    const std::string where = fmt::format("{}: post_processor: special_tokens", path);
    const std::string ids_of = fmt::format("{}: \"{}\"", where, name);
    for (const json& id : required(required(special_tokens, name, where), "ids", ids_of)) {
        const std::int64_t number = integer_in(id, ids_of + ": an id");
        if (number < 0 || number >= static_cast<std::int64_t>(vocabulary.texts.size()))
            fail(path, "post_processor", fmt::format("id {} is not a token", number));
        ids.push_back(static_cast<TokenId>(number));
    }
}

}  // namespace

void read_normalizer(const json& normalizer, Vocabulary& vocabulary, std::string_view path) {
    const std::string where = fmt::format("{}: normalizer", path);
    for (const json& stage : stages_of(normalizer, "normalizers", where)) {
        const std::string& type = required_text(stage, "type", where);
        if (type == "NFC") {
            vocabulary.nfc = true;
        } else if (type == "Prepend" && required(stage, "prepend", where) == kSpaceMark) {
            vocabulary.space_prefix = SpacePrefix::Always;
            vocabulary.prefix_is_normalization = true;
        } else if (type == "Replace" &&
                   optional_text(required(stage, "pattern", where), "String", "", where) == " " &&
                   required(stage, "content", where) == kSpaceMark) {
            vocabulary.prefix_is_normalization = true;
        } else {
            fail_unsupported(path, "normalizer", type,
                             "NFC, Prepend of U+2581, Replace of a space by U+2581");
        }
    }
}

void read_pre_tokenizer(const json& pre_tokenizer, Vocabulary& vocabulary, std::string_view path) {
    vocabulary.kind = VocabularyKind::SentencePieceBpe;
    const std::string where = fmt::format("{}: pre_tokenizer", path);
    for (const json& stage : stages_of(pre_tokenizer, "pretokenizers", where)) {
        const std::string& type = required_text(stage, "type", where);
        if (type == "Split" && finds_nothing(stage, vocabulary, path)) continue;
        if (type == "Split") {
            vocabulary.split_patterns.push_back(split_pattern(stage, path));
        } else if (type == "Digits") {
            const bool each = optional_bool(stage, "individual_digits", false, where);
            vocabulary.split_patterns.emplace_back(each ? R"(\p{N})" : R"(\p{N}+)");
        } else if (type == "ByteLevel") {
            if (optional_bool(stage, "add_prefix_space", true, where))
                fail(path, "pre_tokenizer: ByteLevel", "add_prefix_space is not supported");
            vocabulary.kind = VocabularyKind::ByteLevelBpe;
            if (optional_bool(stage, "use_regex", true, where))
                vocabulary.split_patterns.emplace_back(kGpt2Pattern);
        } else if (type == "Metaspace") {
            read_metaspace(stage, vocabulary, path);
        } else {
            fail_unsupported(path, "pre_tokenizer", type, "Split, Digits, ByteLevel, Metaspace");
        }
    }
}

bool read_post_processor(const json& post_processor, Vocabulary& vocabulary, std::string_view path) {
    bool has_template = false;
    const std::string where = fmt::format("{}: post_processor", path);
    for (const json& stage : stages_of(post_processor, "processors", where)) {
        const std::string& type = required_text(stage, "type", where);
        if (type == "ByteLevel") continue;  // changes offsets only
        if (type != "TemplateProcessing")
            fail_unsupported(path, "post_processor", type, "ByteLevel, TemplateProcessing");
        has_template = true;
        std::vector<TokenId>* ids = &vocabulary.prefix;
        for (const json& item : required(stage, "single", where)) {
            if (item.contains("Sequence")) {
                ids = &vocabulary.suffix;
            } else {
                const json& token = required(item, "SpecialToken", where + ": single");
                add_ids(required(stage, "special_tokens", where), required_text(token, "id", where), *ids,
                        vocabulary, path);
            }
        }
    }
    return has_template;
}

void read_decoder(const json& decoder, Vocabulary& vocabulary, std::string_view path) {
    const std::string where = fmt::format("{}: decoder", path);
    for (const json& stage : stages_of(decoder, "decoders", where)) {
        const std::string& type = required_text(stage, "type", where);
        const bool strips = type == "Strip" && optional_text(stage, "content", "", where) == " " &&
                            stage.contains("start") && integer_in(stage["start"], where + ": \"start\"") > 0;
        const bool metaspace = type == "Metaspace" && vocabulary.space_prefix != SpacePrefix::Never;
        if (strips || metaspace) vocabulary.drop_first_space = true;
    }
}

}  // namespace voltpile::llm
