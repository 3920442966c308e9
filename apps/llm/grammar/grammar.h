// Structured output: a grammar says which texts a model may write, and a matcher which tokens may come next.
#pragma once

#include <compare>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "llm/grammar/automaton.h"
#include "llm/grammar/token_masks.h"
#include "llm/grammar/token_trie.h"

namespace voltpile::llm {

// What a user asks for.
struct GrammarSource {
    enum class Kind {
        JsonSchema,  // `text` is the schema, see json_schema.h
        JsonObject,  // any JSON object; no text
        Regex,       // the whole text matches `text`, see regex.h
        Gbnf,        // `text` is a grammar file, see gbnf.h
    };
    Kind kind = Kind::JsonObject;
    std::string text;
    auto operator<=>(const GrammarSource&) const = default;
};

// A compiled grammar with its token masks. Threads may share one.
class Grammar {
  public:
    // Throws JobError for what is broken, not supported, too large, or matches no text.
    Grammar(const GrammarSource& source, std::shared_ptr<const TokenTrie> trie);

    const Automaton& automaton() const { return automaton_; }
    const TokenTrie& trie() const { return *trie_; }
    TokenMasks& masks() const { return masks_; }

    // Longer sources are refused.
    static constexpr std::size_t most_source_bytes = std::size_t{1} << 20;

  private:
    std::shared_ptr<const TokenTrie> trie_;
    Automaton automaton_;
    mutable TokenMasks masks_;  // fills as it is used
};

// How far one sequence has come in a grammar.
class GrammarMatcher {
  public:
    // continues: the text continues the prompt's text, so a space at its beginning counts.
    explicit GrammarMatcher(std::shared_ptr<const Grammar> grammar, bool continues = false);

    // Returns the tokens that may come next.
    std::shared_ptr<const TokenMask> mask() const;
    // Whether no token may come next, because none of the vocabulary continues the text: why_stuck().
    bool stuck() const;
    static std::string why_stuck();
    // Reads a token. Returns false, and changes nothing, if it is not allowed, or if the text then exceeds
    // kMostDepth or kMostStacks, which mask() does not look for. Returns true for an end token where the text
    // may end.
    bool accept(TokenId token);
    bool complete() const { return now_.complete; }                         // the text may end here
    bool finished() const { return now_.complete && now_.stacks.empty(); }  // and must

  private:
    std::shared_ptr<const Grammar> grammar_;
    Configuration now_;
    bool at_start_;
};

// Compiles a grammar without a vocabulary, to see whether it can be. Throws JobError as Grammar does.
void check_grammar(const GrammarSource& source);

// Compiles grammars, and keeps those used last. Threads may share one.
class GrammarCache {
  public:
    // tokenizer: must outlive this object. end_ids: the tokens that end a sequence.
    GrammarCache(const Tokenizer& tokenizer, std::vector<std::int64_t> end_ids)
        : tokenizer_(tokenizer), end_ids_(std::move(end_ids)) {}

    // The first call builds the trie of the vocabulary. Throws JobError as Grammar does.
    std::shared_ptr<const Grammar> compile(const GrammarSource& source);

    static constexpr std::size_t most_grammars = 32;

  private:
    const Tokenizer& tokenizer_;
    std::vector<std::int64_t> end_ids_;
    std::mutex mutex_;
    std::shared_ptr<const TokenTrie> trie_;
    using Entry = std::pair<GrammarSource, std::shared_ptr<const Grammar>>;
    std::list<Entry> by_use_;  // the last used first
    std::map<GrammarSource, std::list<Entry>::iterator> by_source_;
};

}  // namespace voltpile::llm
