// libFuzzer: any text is the source of a grammar, or a GrammarError. The first byte says of which kind.
#include <array>
#include <cstdint>
#include <string>

#include "llm/grammar/tool_grammar.h"
#include "llm/tokenizer/utf8.h"

namespace {

using namespace voltpile::llm;

GrammarSource source_of(std::uint8_t kind, const std::string& text) {
    using Kind = GrammarSource::Kind;
    constexpr std::array kinds{Kind::JsonSchema, Kind::Regex, Kind::Gbnf};
    // Tools come from JSON that has been read, so their text is valid UTF-8.
    if (kind % 4 < kinds.size() || find_invalid_utf8(text)) return {kinds[kind % kinds.size()], text};
    return tool_grammar_source({ToolFormat::Hermes, false, true, {{"f", text}}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    try {
        check_grammar(source_of(data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1)));
    } catch (const GrammarError&) {
    }
    return 0;
}
