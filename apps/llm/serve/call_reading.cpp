#include "llm/serve/call_reading.h"

namespace voltpile::llm {

std::string CallReading::id(std::string_view prefix, int answer, int call) const {
    // A step of SplitMix64 (G. L. Steele et al., 2014): different numbers become different numbers.
    std::uint64_t bits = seed + (static_cast<std::uint64_t>(answer) << 32) + static_cast<std::uint64_t>(call);
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    bits ^= bits >> 31;
    const bool mistral = format == ToolFormat::Mistral || format == ToolFormat::MistralArgs;
    std::string id(mistral ? std::string_view() : prefix);
    constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (int i = 0; i < 9; ++i, bits /= digits.size()) id += digits[bits % digits.size()];
    return id;
}

}  // namespace voltpile::llm
