#include "llm/grammar/tool_format.h"

#include <array>

#include "llm/grammar/harmony.h"
#include "llm/grammar/thought_reader.h"
#include "llm/grammar/white_space.h"

namespace voltpile::llm {
namespace {

// The first byte of a marker occurs nowhere else in it, on which ToolCallStart relies.
constexpr std::array<std::string_view, 2> kHermesMarkers{"<tool_call>", "</tool_call>"};
constexpr std::array<std::string_view, 1> kLlamaMarkers{"<|python_tag|>"};
constexpr std::array<std::string_view, 1> kMistralMarkers{"[TOOL_CALLS]"};
constexpr std::array<std::string_view, 2> kMistralArgsMarkers{"[TOOL_CALLS]", "[ARGS]"};

struct NamedFormat {
    ToolFormat format;
    std::string_view name;
    std::span<const std::string_view> markers;  // first the one before calls, but for harmony
};
constexpr std::array kFormats{NamedFormat{ToolFormat::Hermes, "hermes", kHermesMarkers},
                              NamedFormat{ToolFormat::Llama3, "llama3", kLlamaMarkers},
                              NamedFormat{ToolFormat::Mistral, "mistral", kMistralMarkers},
                              NamedFormat{ToolFormat::MistralArgs, "mistral-args", kMistralArgsMarkers},
                              NamedFormat{ToolFormat::Harmony, "harmony", kHarmonyTokens}};

const NamedFormat& entry_of(ToolFormat format) {
    return kFormats[static_cast<std::size_t>(format)];
}

constexpr std::array<std::string_view, 2> kBareOpenings{R"({"name":)", R"({"type":"function")"};

bool within_quotes(std::string_view text) {
    bool within = false;
    for (const char c : text) within = within != (c == '"');
    return within;
}

}  // namespace

std::string_view name(ToolFormat format) {
    return entry_of(format).name;
}

std::optional<ToolFormat> tool_format_named(std::string_view name) {
    for (const NamedFormat& each : kFormats)
        if (each.name == name) return each.format;
    return std::nullopt;
}

std::vector<std::string> tool_format_names() {
    std::vector<std::string> names;
    for (const NamedFormat& each : kFormats) names.emplace_back(each.name);
    return names;
}

std::optional<ToolFormat> tool_format_of(std::string_view chat_template) {
    const auto has = [&](std::string_view text) {
        return chat_template.find(text) != std::string_view::npos;
    };
    if (has("<|channel|>") && has("<|message|>")) return ToolFormat::Harmony;
    if (has("[TOOL_CALLS]")) return has("[ARGS]") ? ToolFormat::MistralArgs : ToolFormat::Mistral;
    // Other families write calls in XML between the same tags.
    if (has("<tool_call>")) {
        const bool xml = has("<function=") || has("<arg_key>");
        return xml ? std::nullopt : std::optional(ToolFormat::Hermes);
    }
    if (has("<|python_tag|>") || (has("<|start_header_id|>") && has("parameters"))) return ToolFormat::Llama3;
    return std::nullopt;
}

std::string_view call_marker(ToolFormat format) {
    return format == ToolFormat::Harmony ? kHarmonyCallMarker : entry_of(format).markers.front();
}

std::span<const std::string_view> tool_markers(ToolFormat format) {
    return entry_of(format).markers;
}

ToolCallStart::ToolCallStart(ToolFormat format, bool thinks)
    : marker_(call_marker(format)),
      has_bare_(format == ToolFormat::Llama3),
      thinks_(thinks),
      channels_(format == ToolFormat::Harmony) {
    begin_text();
}

void ToolCallStart::begin_text() {
    bare_alive_ = has_bare_ ? 3u : 0u;
    bare_matched_ = 0;
}

void ToolCallStart::restart() {
    opening_ = {};
    matched_ = bare_matched_ = think_matched_ = 0;
    bare_alive_ = 0;
    has_bare_ = thinks_ = false;
}

// Returns whether the byte is one of the model's thoughts, which may talk about calls. As with markers, the
// first byte of a tag occurs nowhere else in it.
bool ToolCallStart::read_thoughts(char c) {
    const bool thought = thinks_;
    const std::string_view tag = thinks_ ? kThinkEnds : kThinkBegins;
    think_matched_ = c == tag[think_matched_] ? think_matched_ + 1 : c == tag.front() ? 1 : 0;
    if (think_matched_ == tag.size()) {
        thinks_ = !thinks_;
        if (!thinks_) begin_text();
        think_matched_ = 0;
    }
    return thought;
}

bool ToolCallStart::read_channels(char c) {
    if (c == kMarkerByte || !mark_.empty()) {
        if (c == kMarkerByte) mark_.clear();
        mark_ += c;
        matched_ = 0;
        if (c != '>') return false;
        if (mark_ == kHarmonyStart)
            part_ = Part::Role;
        else if (mark_ == kHarmonyChannel)
            part_ = Part::Channel;
        else if (mark_ == kHarmonyMessage)
            part_ = Part::Message;
        else if (mark_ != kHarmonyConstrain)
            part_ = Part::Begin;
        mark_.clear();
        return false;
    }
    if (part_ == Part::Message) return false;
    matched_ = c == marker_[matched_] ? matched_ + 1 : c == marker_.front() ? 1 : 0;
    if (part_ == Part::Begin && matched_ == 0 && !is_white_space(c))
        part_ = Part::Message;  // without a header
    if (matched_ < marker_.size()) return false;
    opening_ = part_ == Part::Channel ? kHarmonyCallInChannel : kHarmonyCallBeforeChannel;
    return true;
}

bool ToolCallStart::read(char c) {
    if (channels_) return read_channels(c);
    if (read_thoughts(c)) return false;
    if (bare_alive_ != 0 && read_bare(c)) return true;
    if (c == marker_[matched_])
        ++matched_;
    else
        matched_ = c == marker_.front() ? 1 : 0;
    if (matched_ < marker_.size()) return false;
    opening_ = marker_;
    return true;
}

bool ToolCallStart::read_bare(char c) {
    const bool space = is_white_space(c);
    unsigned alive = 0;
    for (std::size_t i = 0; i < kBareOpenings.size(); ++i) {
        const std::string_view opening = kBareOpenings[i];
        if ((bare_alive_ >> i & 1) == 0) continue;
        if (space && !within_quotes(opening.substr(0, bare_matched_))) {
            alive |= 1u << i;
        } else if (opening[bare_matched_] == c) {
            alive |= 1u << i;
            if (bare_matched_ + 1 == opening.size()) opening_ = opening;
        }
    }
    bare_alive_ = alive;
    if (!space) ++bare_matched_;
    if (alive == 0) bare_matched_ = 0;
    return !opening_.empty();
}

}  // namespace voltpile::llm
