// The grammar of an answer that may call tools, with the arguments of each call as its JSON schema has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/grammar/grammar.h"
#include "llm/grammar/tool_format.h"

namespace voltpile::llm {

struct ToolGrammar {
    struct Tool {
        std::string name;    // letters, digits, '_', '-' and '.'
        std::string schema;  // of its arguments, an object
    };
    ToolFormat format = ToolFormat::Hermes;
    bool required = false;  // the answer is one call or several, else text and then perhaps calls
    bool parallel = true;   // several calls in an answer are possible
    std::vector<Tool> tools;
    bool thinks = false;  // the answer begins with thoughts, in which no call begins
};

// Returns the grammar as a source of the kind ToolCalls.
GrammarSource tool_grammar_source(const ToolGrammar& grammar);
ToolGrammar read_tool_grammar(std::string_view source);

// Returns the rules of the calls; text before them is not part of the grammar. Throws JobError, which names
// the tool, for a schema that is broken or not supported.
GrammarRules rules_of_calls(const ToolGrammar& grammar, WorkLimit& limit);

}  // namespace voltpile::llm
