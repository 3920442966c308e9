// How the answers to one request are read for calls of tools, and the ids that their calls get.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/grammar/tool_call_reader.h"

namespace voltpile::llm {

struct CallReading {
    std::optional<ToolFormat> format{};  // nothing: answers have no calls
    std::uint64_t seed = 0;              // of the ids, different for each request

    // Returns the id of a call. answer, call: their numbers, from 0. Templates of Mistral models take ids of
    // nine letters and digits only; others have `prefix` in front.
    std::string id(std::string_view prefix, int answer, int call) const;
};

// The readers of streamed answers, by their number.
class CallReaders {
  public:
    explicit CallReaders(std::optional<ToolFormat> format) : format_(format) {}

    ToolCallReader& of(int answer) {
        while (readers_.size() <= static_cast<std::size_t>(answer)) readers_.emplace_back(format_);
        return readers_[static_cast<std::size_t>(answer)];
    }

  private:
    std::optional<ToolFormat> format_;
    std::vector<ToolCallReader> readers_;
};

}  // namespace voltpile::llm
