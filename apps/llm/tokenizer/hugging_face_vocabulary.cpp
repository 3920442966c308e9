#include "llm/tokenizer/hugging_face_vocabulary.h"

#include <algorithm>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/tokenizer/checked_json.h"
#include "llm/tokenizer/hugging_face_pipeline.h"

namespace voltpile::llm {

namespace {

using nlohmann::json;

const json& field(const json& object, const char* name) {
    static const json kNull;
    const auto found = object.find(name);
    return found == object.end() ? kNull : *found;
}

bool is_true(const json& object, const char* name) {
    return object.is_object() && field(object, name).is_boolean() && field(object, name).get<bool>();
}

class HuggingFaceReader {
  public:
    HuggingFaceReader(const json& tokenizer, const json& config, std::string_view path)
        : tokenizer_(tokenizer), config_(config), model_(required(tokenizer, "model", path)), path_(path) {}

    Vocabulary read() {
        check_model();
        read_normalizer(field(tokenizer_, "normalizer"), vocabulary_, path_);
        read_pre_tokenizer(field(tokenizer_, "pre_tokenizer"), vocabulary_, path_);
        read_decoder(field(tokenizer_, "decoder"), vocabulary_, path_);
        read_tokens();
        read_merges();
        vocabulary_.ignore_merges = is_true(model_, "ignore_merges");
        vocabulary_.byte_fallback = is_true(model_, "byte_fallback");
        vocabulary_.fuse_unknown = is_true(model_, "fuse_unk");
        vocabulary_.unknown = token_named(field(model_, "unk_token"));
        read_ends();
        return std::move(vocabulary_);
    }

  private:
    [[noreturn]] void fail(std::string_view problem) const {
        throw JobError(fmt::format("{}: {}", path_, problem));
    }

    std::string where(std::string_view part) const { return fmt::format("{}: {}", path_, part); }

    void check_model() const {
        const json& type = field(model_, "type");  // missing in files from the time of GPT-2
        if (!type.is_null() && type != "BPE")
            fail(fmt::format("model: \"{}\" is not supported; supported is BPE",
                             text_in(type, where("model: \"type\""))));
        for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"})
            if (const json& affix = field(model_, name); !affix.is_null() && affix != "")
                fail(fmt::format("model: {} is not supported", name));
    }

    void read_tokens() {
        const json& texts = required(model_, "vocab", where("model"));
        if (!texts.is_object()) fail("model: \"vocab\" is not an object");
        const json none = json::array();
        const json& added = tokenizer_.contains("added_tokens") ? tokenizer_.at("added_tokens") : none;
        most_tokens_ = 4 * (texts.size() + added.size()) + 1024;  // bounds the gaps between ids
        const std::string id_of_vocab = where("model: an id of \"vocab\"");
        for (const auto& [text, id] : texts.items())
            place(text, integer_in(id, id_of_vocab), TokenKind::Normal);
        for (const json& token : added) read_added_token(token);
        if (is_true(model_, "byte_fallback"))
            for (std::size_t i = 0; i < vocabulary_.texts.size(); ++i)
                if (byte_of_token(vocabulary_.texts[i])) vocabulary_.kinds[i] = TokenKind::Byte;
    }

    void read_added_token(const json& token) {
        const std::string added = where("added_tokens");
        const std::string& text = required_text(token, "content", added);
        const std::int64_t id = integer_in(required(token, "id", added), added + ": \"id\"");
        if (is_true(token, "single_word"))
            fail(fmt::format("added_tokens: \"{}\": single_word is not supported", text));
        const bool special = is_true(token, "special");
        place(text, id, special ? TokenKind::Control : TokenKind::UserDefined);
        vocabulary_.added.push_back({static_cast<TokenId>(id), text, special, is_true(token, "lstrip"),
                                     is_true(token, "rstrip"), is_true(token, "normalized")});
    }

    void place(const std::string& text, std::int64_t id, TokenKind kind) {
        if (id < 0 || static_cast<std::size_t>(id) >= most_tokens_)
            fail(fmt::format("id {} of token \"{}\" is out of range", id, text));
        const auto i = static_cast<std::size_t>(id);
        if (i >= vocabulary_.texts.size()) {
            vocabulary_.texts.resize(i + 1);
            vocabulary_.kinds.resize(i + 1, TokenKind::Unused);
        }
        if (!vocabulary_.texts[i].empty() && vocabulary_.texts[i] != text)
            fail(fmt::format("tokens \"{}\" and \"{}\" have the same id {}", vocabulary_.texts[i], text, id));
        vocabulary_.texts[i] = text;
        vocabulary_.kinds[i] = kind;
    }

    // ["left right", ...] or [["left", "right"], ...]
    void read_merges() {
        std::vector<std::pair<std::string_view, std::string_view>> pairs;
        const std::string part = where("merges: a part of one");
        for (const json& merge : required(model_, "merges", where("model"))) {
            if (merge.is_array() && merge.size() == 2) {
                pairs.emplace_back(text_in(merge[0], part), text_in(merge[1], part));
                continue;
            }
            const std::string_view text = text_in(merge, where("merges: one"));
            const std::size_t space = text.find(' ');
            if (space == std::string_view::npos) fail(fmt::format("merges: \"{}\" is not two tokens", text));
            pairs.emplace_back(text.substr(0, space), text.substr(space + 1));
        }
        set_merges(vocabulary_, pairs, path_);
    }

    // Returns a token named by its text, or by an object whose "content" is the text.
    std::optional<TokenId> token_named(const json& name) const {
        if (name.is_object()) return token_named(required(name, "content", where("a special token")));
        if (!name.is_string()) return std::nullopt;
        const auto found =
            std::find(vocabulary_.texts.begin(), vocabulary_.texts.end(), name.get<std::string>());
        if (found == vocabulary_.texts.end()) return std::nullopt;
        return static_cast<TokenId>(found - vocabulary_.texts.begin());
    }

    void read_ends() {
        const bool has_template =
            read_post_processor(field(tokenizer_, "post_processor"), vocabulary_, path_);
        if (!config_.is_object()) return;
        vocabulary_.bos = token_named(field(config_, "bos_token"));
        vocabulary_.eos = token_named(field(config_, "eos_token"));
        if (has_template) return;
        if (is_true(config_, "add_bos_token") && vocabulary_.bos) vocabulary_.prefix = {*vocabulary_.bos};
        if (is_true(config_, "add_eos_token") && vocabulary_.eos) vocabulary_.suffix = {*vocabulary_.eos};
    }

    const json& tokenizer_;
    const json& config_;
    const json& model_;
    std::string_view path_;
    std::size_t most_tokens_ = 0;
    Vocabulary vocabulary_;
};

}  // namespace

Vocabulary vocabulary_from_hugging_face(const json& tokenizer, const json& config, std::string_view path) {
    return HuggingFaceReader(tokenizer, config, path).read();
}

}  // namespace voltpile::llm
