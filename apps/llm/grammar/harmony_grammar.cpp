#include "llm/grammar/harmony_grammar.h"

#include "llm/grammar/code_points.h"

namespace voltpile::llm {
namespace {

ExpressionPtr optional_thoughts() {
    return optional(sequence({literal(kHarmonyChannel), literal("analysis"), literal(kHarmonyMessage),
                              repeat(utf8(CodePoints::all()), 0, -1), literal(kHarmonyEnd),
                              literal(kHarmonyStart), literal("assistant")}));
}

// After the channel and the recipient: perhaps " json", perhaps as " <|constrain|>json", and the beginning of
// the message.
ExpressionPtr header_end() {
    const ExpressionPtr constrained =
        sequence({optional(literal(" ")), literal(kHarmonyConstrain), literal("json")});
    return sequence({optional(choice({literal(" json"), constrained})), literal(kHarmonyMessage)});
}

}  // namespace

ExpressionPtr in_final_channel(const ExpressionPtr& text) {
    return sequence({optional_thoughts(), literal(kHarmonyChannel), literal("final"), header_end(), text});
}

ExpressionPtr harmony_call(JsonText& json, const std::vector<HarmonyCall>& calls, bool required) {
    std::vector<ExpressionPtr> before, within;  // the recipient stands before the channel or in it
    for (const HarmonyCall& each : calls) {
        const ExpressionPtr rest = json.shared("call", sequence({header_end(), each.arguments}));
        before.push_back(
            sequence({literal(each.name), literal(kHarmonyChannel), literal("commentary"), rest}));
        within.push_back(sequence({literal(each.name), rest}));
    }
    const ExpressionPtr one =
        choice({sequence({literal(kHarmonyCallBeforeChannel), choice(std::move(before))}),
                sequence({literal(kHarmonyCallInChannel), choice(std::move(within))})});
    return required ? sequence({optional_thoughts(), one}) : one;
}

}  // namespace voltpile::llm
