// Grammars of answers in the harmony format. An answer may begin with thoughts, whatever its grammar.
#pragma once

#include <string>
#include <vector>

#include "llm/grammar/expression.h"
#include "llm/grammar/harmony.h"
#include "llm/grammar/json_text.h"

namespace voltpile::llm {

// An answer whose final channel has this text.
ExpressionPtr in_final_channel(const ExpressionPtr& text);

struct HarmonyCall {
    std::string name;         // of the tool
    ExpressionPtr arguments;  // JSON
};

// One call: these models call one tool at a time. required: the answer has nothing else but thoughts before
// it; otherwise the grammar begins with kHarmonyCallBeforeChannel or kHarmonyCallInChannel.
ExpressionPtr harmony_call(JsonText& json, const std::vector<HarmonyCall>& calls, bool required);

}  // namespace voltpile::llm
