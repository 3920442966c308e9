// How the answers to one request are read for thoughts and calls of tools, and the ids that their calls get.
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
    Thoughts thoughts = Thoughts::None;

    // Returns the id of a call. answer, call: their numbers, from 0. Templates of Mistral models take ids of
    // nine letters and digits only; others have `prefix` in front.
    std::string id(std::string_view prefix, int answer, int call) const;

    ToolCallReader reader() const { return ToolCallReader(format, thoughts); }
    ReadAnswer read(std::string_view text) const { return read_answer(format, text, thoughts); }
};

// The readers of streamed answers, by their number.
class CallReaders {
  public:
    explicit CallReaders(const CallReading& reading) : reading_(reading) {}

    ToolCallReader& of(int answer) {
        while (readers_.size() <= static_cast<std::size_t>(answer)) readers_.push_back(reading_.reader());
        return readers_[static_cast<std::size_t>(answer)];
    }

  private:
    CallReading reading_;
    std::vector<ToolCallReader> readers_;
};

}  // namespace voltpile::llm
