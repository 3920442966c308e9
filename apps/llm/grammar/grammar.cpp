#include "llm/grammar/grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "llm/grammar/gbnf.h"
#include "llm/grammar/harmony_grammar.h"
#include "llm/grammar/json_schema.h"
#include "llm/grammar/json_text.h"
#include "llm/grammar/regex.h"
#include "llm/grammar/shown_tokens.h"
#include "llm/grammar/tool_grammar.h"

namespace voltpile::llm {
namespace {

GrammarRules rules_of_text(const GrammarSource& source, WorkLimit& limit) {
    if (source.text.size() > Grammar::most_source_bytes)
        throw JobError(fmt::format("a grammar of {} bytes is above the limit of {}", source.text.size(),
                                   Grammar::most_source_bytes));
    switch (source.kind) {
        case GrammarSource::Kind::JsonSchema:
            return parse_json_schema(source.text, limit);
        case GrammarSource::Kind::JsonObject: {
            JsonText json;
            json.rules().root = json.rules().add("root", json.any_object());
            return std::move(json.rules());
        }
        case GrammarSource::Kind::Regex: {
            GrammarRules rules;
            rules.add("root", parse_regex(source.text, RegexMatch::Whole, utf8));
            return rules;
        }
        case GrammarSource::Kind::Gbnf:
            return parse_gbnf(source.text);
        case GrammarSource::Kind::ToolCalls:
            return rules_of_calls(read_tool_grammar(source.text), limit);
    }
    throw std::logic_error("unknown kind of grammar");
}

GrammarRules rules_of(const GrammarSource& source, WorkLimit& limit) {
    GrammarRules rules = rules_of_text(source, limit);
    if (source.in_channels) rules.root = rules.add("answer", in_final_channel(call(rules.root)));
    return rules;
}

Automaton automaton_of(const GrammarSource& source) {
    try {
        WorkLimit limit;
        return Automaton(rules_of(source, limit), limit);
    } catch (const JobError& error) {
        throw GrammarError(error.what());
    }
}

std::optional<ToolCallStart> start_of_calls(const GrammarSource& source) {
    if (source.kind != GrammarSource::Kind::ToolCalls) return std::nullopt;
    const ToolGrammar grammar = read_tool_grammar(source.text);
    return grammar.required ? std::nullopt : std::optional(ToolCallStart(grammar.format, grammar.thinks));
}

// Returns the special tokens that belong to texts of this grammar.
ShownTokens shown_tokens(const GrammarSource& source, const Tokenizer& tokenizer) {
    if (source.in_channels) return harmony_tokens(tokenizer);
    if (source.kind != GrammarSource::Kind::ToolCalls) return {};
    const ToolFormat format = read_tool_grammar(source.text).format;
    if (format == ToolFormat::Harmony) return harmony_tokens(tokenizer);
    return {special_tokens_named(tokenizer, tool_markers(format))};
}

}  // namespace

Grammar::Grammar(const GrammarSource& source, std::shared_ptr<const TokenTrie> trie)
    : trie_(std::move(trie)),
      automaton_(automaton_of(source)),
      masks_(automaton_, *trie_),
      call_masks_(automaton_, *trie_),
      call_start_(start_of_calls(source)) {}

GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar, bool continues)
    : grammar_(std::move(grammar)),
      waits_(grammar_->start()),
      now_(start_of(grammar_->automaton())),
      at_start_(!continues) {}

std::shared_ptr<const TokenMask> GrammarMatcher::mask() const {
    if (waits_) return grammar_->masks_before_calls().mask(*waits_);
    return grammar_->masks().mask(now_, at_start_);
}

bool GrammarMatcher::accept(TokenId token) {
    const TokenTrie& trie = grammar_->trie();
    if (std::ranges::find(trie.end_ids(), token) != trie.end_ids().end()) return complete();
    std::string_view bytes = trie.bytes_of(token);
    if (waits_) return accept_before_calls(bytes);
    if (at_start_ && trie.drops_first_space() && bytes.starts_with(' ')) bytes.remove_prefix(1);
    if (bytes.empty()) return false;
    Configuration next = now_;
    for (const char c : bytes) {
        next = after_byte(grammar_->automaton(), next, static_cast<std::uint8_t>(c));
        if (next.dead()) return false;
    }
    now_ = std::move(next);
    at_start_ = false;
    return true;
}

bool GrammarMatcher::accept_before_calls(std::string_view bytes) {
    ToolCallStart start = *waits_;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (!start.read(bytes[i])) continue;
        Configuration next = after_opening(grammar_->automaton(), start.opening());
        for (const char c : bytes.substr(i + 1))
            next = after_byte(grammar_->automaton(), next, static_cast<std::uint8_t>(c));
        if (next.dead()) return false;
        now_ = std::move(next);
        waits_.reset();
        at_start_ = false;
        return true;
    }
    waits_ = start;
    return true;
}

bool GrammarMatcher::stuck() const {
    const auto allowed = mask();
    return allowed && std::ranges::all_of(*allowed, [](std::uint32_t word) { return word == 0; });
}

std::string GrammarMatcher::why_stuck() {
    return fmt::format(
        "no token continues the text within its grammar: the text has more than {} readings, or needs a byte "
        "that the vocabulary lacks",
        kMostStacks);
}

void check_grammar(const GrammarSource& source) {
    automaton_of(source);
}

void GrammarChecks::check(const GrammarSource& source) {
    {
        const std::lock_guard lock(mutex_);
        const auto known = std::ranges::find(passed_, source);
        if (known != passed_.end()) return passed_.splice(passed_.begin(), passed_, known);
    }
    check_grammar(source);
    const std::lock_guard lock(mutex_);
    passed_.push_front(source);
    if (passed_.size() > most_remembered) passed_.pop_back();
}

std::shared_ptr<const TokenTrie> GrammarCache::trie_for(const GrammarSource& source) {
    const ShownTokens shown = shown_tokens(source, tokenizer_);
    std::shared_ptr<const TokenTrie>& trie = tries_[shown];
    if (!trie) trie = std::make_shared<const TokenTrie>(tokenizer_, end_ids_, shown);
    return trie;
}

std::shared_ptr<const Grammar> GrammarCache::compile(const GrammarSource& source) {
    std::shared_ptr<const TokenTrie> trie;
    {
        const std::lock_guard lock(mutex_);
        if (const auto known = by_source_.find(source); known != by_source_.end()) {
            by_use_.splice(by_use_.begin(), by_use_, known->second);
            return known->second->second;
        }
        trie = trie_for(source);
    }
    auto made = std::make_shared<const Grammar>(source, trie);
    const std::lock_guard lock(mutex_);
    if (const auto known = by_source_.find(source); known != by_source_.end()) return known->second->second;
    by_use_.emplace_front(source, made);
    by_source_.emplace(source, by_use_.begin());
    if (by_use_.size() > most_grammars) {
        by_source_.erase(by_use_.back().first);
        by_use_.pop_back();
    }
    return made;
}

}  // namespace voltpile::llm
