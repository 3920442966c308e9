// The lines that this program and its agents on other hosts exchange: questions on the agent's stdin, JSON
// on its stdout. Prefixes tell the agent's lines from what login scripts print.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace voltpile {

inline constexpr std::string_view answer_prefix = "voltpile-hosts: ";  // the answer to a question
inline constexpr std::string_view news_prefix = "voltpile-news: ";     // what nobody asked for

// Reads lines of stdin with a timeout, which standard streams do not have.
class AgentInput {
  public:
    enum class Event { Line, Silence, End };

    // Waits for a line, at most this long. End: stdin is closed.
    Event next(std::chrono::milliseconds at_most, std::string& line);

  private:
    std::string text_;
};

// Writes one line of JSON to stdout. Replaces invalid UTF-8, such as in the name of a device.
void send_line(std::string_view prefix, const nlohmann::json& object);

}  // namespace voltpile
