// How models write calls of tools in their answers.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

enum class ToolFormat {
    Hermes,       // <tool_call>{"name": "f", "arguments": {...}}</tool_call>, once for each call
    Llama3,       // {"name": "f", "parameters": {...}} at the beginning of the text or after <|python_tag|>
    Mistral,      // [TOOL_CALLS][{"name": "f", "arguments": {...}}, ...]
    MistralArgs,  // [TOOL_CALLS]f[ARGS]{...}, once for each call
    Harmony,      // a message to functions.f in the channel "commentary", see harmony.h
};

// Returns "hermes", "llama3", "mistral", "mistral-args" or "harmony".
std::string_view name(ToolFormat format);
std::optional<ToolFormat> tool_format_named(std::string_view name);
std::vector<std::string> tool_format_names();

// Returns the format that a model's chat template uses; nothing if it is none of these.
std::optional<ToolFormat> tool_format_of(std::string_view chat_template);

// Returns what stands before calls; for harmony, in the header of a call.
std::string_view call_marker(ToolFormat format);

// Returns the texts that may be special tokens of the model's vocabulary and yet belong to its answer. In
// texts of the harmony format kMarkerByte stands before them.
std::span<const std::string_view> tool_markers(ToolFormat format);

// Watches a text for the beginning of calls: a marker, or for Llama 3 also an object at the beginning of the
// text whose first member is "name", or "type" with the value "function". What stands between <think> and
// </think> is no call, and the text begins again after it. In the harmony format calls begin in headers only.
class ToolCallStart {
  public:
    // thinks: the text begins after <think>.
    explicit ToolCallStart(ToolFormat format, bool thinks = false);

    // Reads the next byte. Returns true if it completes a beginning; then no more bytes may follow.
    bool read(char c);
    // Whether the bytes read last may be part of a beginning.
    bool undecided() const { return matched_ > 0 || (bare_alive_ != 0 && bare_matched_ > 0); }
    // After read() returned true: the beginning, without white space.
    std::string_view opening() const { return opening_; }
    bool is_bare() const { return opening_ != marker_; }  // it has no marker
    // Watches for the next calls of the same text.
    void restart();

    auto operator<=>(const ToolCallStart&) const = default;

  private:
    bool read_bare(char c);
    bool read_thoughts(char c);
    bool read_channels(char c);

    void begin_text();

    std::string_view marker_, opening_;
    bool has_bare_;                  // openings without marker
    std::size_t matched_ = 0;        // bytes of the marker
    std::size_t bare_matched_ = 0;   // bytes of an opening without marker
    unsigned bare_alive_ = 0;        // bit i: the text may begin with opening i
    bool thinks_ = false;            // after <think>
    std::size_t think_matched_ = 0;  // bytes of the tag that comes next: <think> or </think>
    // Of the harmony format. Begin: between messages; Role, Channel: in a header before and after its
    // channel.
    enum class Part { Begin, Role, Channel, Message };
    bool channels_ = false;  // it is this format
    Part part_ = Part::Begin;
    std::string mark_;  // the beginning of a marker, from kMarkerByte on
};

}  // namespace voltpile::llm
