#include "llm/grammar/harmony.h"

#include "llm/grammar/shown_tokens.h"

namespace voltpile::llm {

ShownTokens harmony_tokens(const Tokenizer& tokenizer) {
    return {special_tokens_named(tokenizer, kHarmonyTokens), true};
}

}  // namespace voltpile::llm
