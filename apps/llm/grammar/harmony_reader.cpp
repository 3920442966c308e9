#include "llm/grammar/harmony_reader.h"

#include <utility>

#include "llm/grammar/harmony.h"
#include "llm/grammar/white_space.h"

namespace voltpile::llm {
namespace {

constexpr std::string_view kRecipient = "to=", kFunctions = "functions.", kSeparator = "\n\n";
constexpr std::size_t longest_header = 4096;  // bytes; the rest of a longer one is ignored

// Returns the word that begins at a place; a marker ends it, too.
std::string_view word_at(std::string_view text, std::size_t at) {
    const auto is_end = [](char c) { return is_white_space(c) || c == kMarkerByte; };
    std::size_t end = at;
    while (end < text.size() && !is_end(text[end])) ++end;
    return text.substr(at, end - at);
}

struct Header {
    std::string_view channel, recipient;
};

Header parse_header(std::string_view header) {
    Header parsed;
    if (const auto at = header.find(kHarmonyChannel); at != std::string_view::npos)
        parsed.channel = word_at(header, at + kHarmonyChannel.size());
    for (std::size_t at = 0; at < header.size(); ++at) {
        const bool begins = at == 0 || is_white_space(header[at - 1]) || header[at - 1] == '>';
        if (!begins || !header.substr(at).starts_with(kRecipient)) continue;
        parsed.recipient = word_at(header, at + kRecipient.size());
        break;
    }
    return parsed;
}

// Whether a header without <|start|> may begin so: with white space and a recipient.
bool may_be_recipient(std::string_view text) {
    const auto first = text.find_first_not_of(kWhiteSpace);
    if (first == std::string_view::npos) return true;
    text.remove_prefix(first);
    return text.starts_with(kRecipient) || kRecipient.starts_with(text);
}

}  // namespace

std::vector<ToolCallPiece> HarmonyReader::read(std::string_view text) {
    for (const char c : text) {
        if (c == kMarkerByte) {
            mark_ = c;
        } else if (mark_.empty()) {
            read_byte(c);
        } else {
            mark_ += c;
            if (c == '>') read_mark(std::exchange(mark_, {}));
        }
    }
    return std::exchange(pieces_, {});
}

std::vector<ToolCallPiece> HarmonyReader::finish() {
    const std::string text = std::exchange(header_, {});
    const auto first = text.find_first_not_of(kWhiteSpace);
    if (place_ == Place::Between && first != std::string::npos &&
        !text.substr(first).starts_with(kRecipient)) {
        begin_message(Kind::Text);
        add(Kind::Text, text);
    }
    return std::exchange(pieces_, {});
}

void HarmonyReader::read_byte(char c) {
    if (place_ == Place::Message) return add(kind_, {&c, 1});
    if (header_.size() < longest_header) header_ += c;
    if (place_ == Place::Header || may_be_recipient(header_)) return;
    // Text without a header.
    const std::string text = std::exchange(header_, {});
    begin_message(Kind::Text);
    add(Kind::Text, text);
}

void HarmonyReader::read_mark(std::string_view mark) {
    if (mark == kHarmonyStart) {
        header_.clear();
        place_ = Place::Header;
    } else if (mark == kHarmonyChannel) {
        // In a message its end is missing.
        if (place_ == Place::Message) header_.clear();
        place_ = Place::Header;
        header_ += mark;
    } else if (mark == kHarmonyConstrain) {
        if (place_ == Place::Header) header_ += mark;
    } else if (mark == kHarmonyMessage) {
        if (place_ != Place::Message) begin_message();
    } else {
        header_.clear();
        place_ = Place::Between;
    }
}

void HarmonyReader::begin_message() {
    const std::string header = std::exchange(header_, {});
    const auto [channel, recipient] = parse_header(header);
    const bool to_person =
        recipient.empty() || recipient == "user" || recipient == "all" || recipient == "assistant";
    if (may_call_ && recipient.starts_with(kFunctions) && recipient.size() > kFunctions.size()) {
        begin_message(Kind::Arguments);
        pieces_.push_back({Kind::Name, std::string(recipient.substr(kFunctions.size()))});
        ++calls_;
    } else {
        begin_message(channel == "analysis" || !to_person ? Kind::Thought : Kind::Text);
    }
}

void HarmonyReader::begin_message(Kind kind) {
    place_ = Place::Message;
    kind_ = kind;
    begun_ = false;
}

void HarmonyReader::add(Kind kind, std::string_view text) {
    if (!std::exchange(begun_, true) && kind != Kind::Arguments) {
        bool& earlier = kind == Kind::Thought ? has_thoughts_ : has_text_;
        if (std::exchange(earlier, true)) add(kind, kSeparator);
    }
    if (!pieces_.empty() && pieces_.back().kind == kind)
        pieces_.back().text += text;
    else
        pieces_.push_back({kind, std::string(text)});
}

}  // namespace voltpile::llm
