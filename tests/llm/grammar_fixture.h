// A vocabulary whose tokens span symbols of grammars and split characters, and what a grammar says of texts.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "llm/grammar/grammar.h"

namespace voltpile::llm {

constexpr TokenId grammar_end_token = 2;

// All bytes, and tokens of several bytes. first_space: the decoder drops a space at the beginning of a text.
inline Tokenizer grammar_tokenizer(bool first_space = false) {
    Vocabulary vocabulary;
    vocabulary.kind = VocabularyKind::SentencePieceBpe;
    vocabulary.drop_first_space = first_space;
    const auto add = [&](std::string text, TokenKind kind) {
        vocabulary.texts.push_back(std::move(text));
        vocabulary.kinds.push_back(kind);
    };
    add("<unk>", TokenKind::Unknown);
    add("<s>", TokenKind::Control);
    add("</s>", TokenKind::Control);
    for (int byte = 0; byte < 256; ++byte) {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", byte);
        add(name, TokenKind::Byte);
    }
    for (const char* text :
         {"{\"",     "\":",  "\": ",   "\", \"", "\",\"",    "\"}",      "\"},",      "}]",      "]}",
          "\n  ",    "\n\n", "\n    ", " true",  "true",     "tru",      "e,",        "fal",     "null",
          "nul",     "l}",   "[1",     "[[",     "[[[[[[[",  "{}",       "[]",        "\"\"",    "\"]",
          "é",       "\xC3", "\xA9\"", "日",     "\xE6\x97", "\xA5\"",   "12",        "2024-0",  "-0",
          "0.",      "1e",   "e+",     "\\\"",   "\\n",      "\\u00",    "\\u",       "\\ud83d", "ab",
          "abc\": ", "name", " name",  " {",     " {\"",     "   ",      "://",       "1,",      "23]",
          "a\"b",    "+(",   "))",     "x\ny",   "\xF0\x9F", "\x98\x80", "{\"a\": [", "null}",   "\": {\"",
          "a",       "\"a\""})
        add(text, TokenKind::Normal);
    vocabulary.eos = grammar_end_token;
    return Tokenizer(vocabulary);
}

inline std::shared_ptr<const TokenTrie> grammar_trie(bool first_space = false) {
    return std::make_shared<const TokenTrie>(grammar_tokenizer(first_space),
                                             std::vector<std::int64_t>{grammar_end_token});
}

inline std::shared_ptr<const Grammar> grammar_of(GrammarSource::Kind kind, std::string text,
                                                 bool first_space = false) {
    return std::make_shared<const Grammar>(GrammarSource{kind, std::move(text)}, grammar_trie(first_space));
}
inline std::shared_ptr<const Grammar> schema_grammar(std::string text) {
    return grammar_of(GrammarSource::Kind::JsonSchema, std::move(text));
}
inline std::shared_ptr<const Grammar> regex_grammar(std::string text) {
    return grammar_of(GrammarSource::Kind::Regex, std::move(text));
}
inline std::shared_ptr<const Grammar> gbnf_grammar(std::string text) {
    return grammar_of(GrammarSource::Kind::Gbnf, std::move(text));
}

inline Configuration after_text(const Grammar& grammar, std::string_view text) {
    Configuration now = start_of(grammar.automaton());
    for (const char c : text) now = after_byte(grammar.automaton(), now, static_cast<std::uint8_t>(c));
    return now;
}
inline bool accepts_text(const Grammar& grammar, std::string_view text) {
    return after_text(grammar, text).complete;
}
inline std::string refusal_of(GrammarSource::Kind kind, std::string text) {
    try {
        grammar_of(kind, std::move(text));
    } catch (const JobError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace voltpile::llm
