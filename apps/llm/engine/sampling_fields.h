// The sampling settings that users can set: one table for command lines, job files and lines of prompts.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "llm/ops/sampling.h"

namespace voltpile::llm {

struct SamplingField {
    // As in job files ("sampling.top_p") and in lines of prompts; the option is --top-p.
    std::string_view name;
    std::variant<float SamplingSettings::*, int SamplingSettings::*> member;  // its default is the member's
    double least;
    double most;
    std::string_view help;  // a clause without a period at its end

    double default_value() const {
        const SamplingSettings defaults;
        return std::visit([&](auto each) { return static_cast<double>(defaults.*each); }, member);
    }
    bool is_integer() const { return std::holds_alternative<int SamplingSettings::*>(member); }

    // value: within least and most.
    void set(SamplingSettings& settings, double value) const {
        std::visit(
            [&](auto each) {
                settings.*each = static_cast<std::remove_reference_t<decltype(settings.*each)>>(value);
            },
            member);
    }
};

inline constexpr std::array kSamplingFields{
    SamplingField{"temperature", &SamplingSettings::temperature, 0, 100,
                  "0: always take the most probable token"},
    SamplingField{"top_k", &SamplingSettings::top_k, 0, 1 << 24,
                  "sample from the k most probable tokens; 0: from all"},
    SamplingField{"top_p", &SamplingSettings::top_p, 0, 1,
                  "sample from the smallest set of tokens whose probabilities add up to this"},
    SamplingField{"min_p", &SamplingSettings::min_p, 0, 1,
                  "sample from tokens whose probability is at least this fraction of the highest"},
    SamplingField{"repetition_penalty", &SamplingSettings::repetition_penalty, 0.01, 100,
                  "divides positive logits of tokens already in the sequence and multiplies negative ones"},
    SamplingField{"presence_penalty", &SamplingSettings::presence_penalty, -100, 100,
                  "subtracted from the logits of tokens already in the sequence"},
    SamplingField{"frequency_penalty", &SamplingSettings::frequency_penalty, -100, 100,
                  "subtracted from the logits of tokens already in the sequence, once for each occurrence"},
};

// Bounds of a request's max_tokens.
inline constexpr int kLeastNewTokens = 1;
inline constexpr int kMostNewTokens = 1 << 24;

}  // namespace voltpile::llm
