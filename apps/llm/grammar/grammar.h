// Structured output: a grammar says which texts a model may write, and a matcher which tokens may come next.
#pragma once

#include <compare>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "llm/grammar/automaton.h"
#include "llm/grammar/call_masks.h"
#include "llm/grammar/token_masks.h"
#include "llm/grammar/token_trie.h"
#include "llm/grammar/tool_format.h"

namespace voltpile::llm {

// What a user asks for.
struct GrammarSource {
    enum class Kind {
        JsonSchema,  // `text` is the schema, see json_schema.h
        JsonObject,  // any JSON object; no text
        Regex,       // the whole text matches `text`, see regex.h
        Gbnf,        // `text` is a grammar file, see gbnf.h
        ToolCalls,   // `text` describes tools and how they are called, see tool_grammar.h
    };
    Kind kind = Kind::JsonObject;
    std::string text;
    bool in_channels = false;  // of the final channel of the harmony format, perhaps after thoughts
    auto operator<=>(const GrammarSource&) const = default;
};

// A grammar that is broken, not supported, too large, or matches no text.
class GrammarError : public JobError {
  public:
    using JobError::JobError;
};

// A compiled grammar with its token masks. Threads may share one.
class Grammar {
  public:
    // Throws GrammarError.
    Grammar(const GrammarSource& source, std::shared_ptr<const TokenTrie> trie);

    const Automaton& automaton() const { return automaton_; }
    const TokenTrie& trie() const { return *trie_; }
    TokenMasks& masks() const { return masks_; }
    // The calls with which the grammar begins; nothing if the whole text is in the grammar.
    const std::optional<ToolCallStart>& start() const { return call_start_; }
    CallMasks& masks_before_calls() const { return call_masks_; }

    // Longer sources are refused.
    static constexpr std::size_t most_source_bytes = std::size_t{1} << 20;

  private:
    std::shared_ptr<const TokenTrie> trie_;
    Automaton automaton_;
    mutable TokenMasks masks_;  // these two fill as they are used
    mutable CallMasks call_masks_;
    std::optional<ToolCallStart> call_start_;
};

// How far one sequence has come in a grammar.
class GrammarMatcher {
  public:
    // continues: the text continues the prompt's text, so a space at its beginning counts.
    explicit GrammarMatcher(std::shared_ptr<const Grammar> grammar, bool continues = false);

    // Returns the tokens that may come next; nullptr: all.
    std::shared_ptr<const TokenMask> mask() const;
    // Whether no token may come next, because none of the vocabulary continues the text: why_stuck().
    bool stuck() const;
    static std::string why_stuck();
    // Reads a token. Returns false, and changes nothing, if it is not allowed, or if the text then exceeds
    // kMostStacks, which mask() does not look for. Returns true for an end token where the text
    // may end.
    bool accept(TokenId token);
    bool complete() const { return waits_ || now_.complete; }  // the text may end here
    bool finished() const { return !waits_ && now_.complete && now_.stacks.empty(); }  // and must

  private:
    bool accept_before_calls(std::string_view bytes);

    std::shared_ptr<const Grammar> grammar_;
    std::optional<ToolCallStart> waits_;  // for calls; the grammar does not hold before them
    Configuration now_;
    bool at_start_;
};

// Compiles a grammar without a vocabulary, to see whether it can be. Throws GrammarError.
void check_grammar(const GrammarSource& source);

// The same once for each grammar: remembers those that have passed. Threads may share one.
class GrammarChecks {
  public:
    void check(const GrammarSource& source);  // throws GrammarError

    static constexpr std::size_t most_remembered = 32;

  private:
    std::mutex mutex_;
    std::list<GrammarSource> passed_;  // the last used first
};

// Compiles grammars, and keeps those used last. Threads may share one.
class GrammarCache {
  public:
    // tokenizer: must outlive this object. end_ids: the tokens that end a sequence.
    GrammarCache(const Tokenizer& tokenizer, std::vector<std::int64_t> end_ids)
        : tokenizer_(tokenizer), end_ids_(std::move(end_ids)) {}

    // The first call builds a trie of the vocabulary. Throws GrammarError.
    std::shared_ptr<const Grammar> compile(const GrammarSource& source);

    static constexpr std::size_t most_grammars = 32;

  private:
    std::shared_ptr<const TokenTrie> trie_for(const GrammarSource& source);

    const Tokenizer& tokenizer_;
    std::vector<std::int64_t> end_ids_;
    std::mutex mutex_;
    // By the special tokens that count as text.
    std::map<ShownTokens, std::shared_ptr<const TokenTrie>> tries_;
    using Entry = std::pair<GrammarSource, std::shared_ptr<const Grammar>>;
    std::list<Entry> by_use_;  // the last used first
    std::map<GrammarSource, std::list<Entry>::iterator> by_source_;
};

}  // namespace voltpile::llm
