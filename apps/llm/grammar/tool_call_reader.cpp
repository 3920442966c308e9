#include "llm/grammar/tool_call_reader.h"

#include <utility>

#include "llm/grammar/white_space.h"

namespace voltpile::llm {
namespace {

using PieceKind = ToolCallPiece::Kind;

constexpr std::string_view kClosingTag = "</tool_call>";
constexpr std::size_t longest_tool_name = 512;  // longer ones are no call

std::string_view without_spaces_after(std::string_view text) {
    return text.substr(0, text.find_last_not_of(kWhiteSpace) + 1);
}

}  // namespace

ToolCallReader::ToolCallReader(std::optional<ToolFormat> format, Thoughts thoughts)
    : thoughts_(thoughts), format_(format) {
    if (thoughts == Thoughts::Channels)
        channels_.emplace(format.has_value());
    else if (format)
        start_.emplace(*format);
}

void ToolCallReader::add(PieceKind kind, std::string_view text) {
    if (kind != PieceKind::Name && text.empty()) return;
    if (kind == PieceKind::Name) ++calls_;
    if (kind != PieceKind::Name && !pieces_.empty() && pieces_.back().kind == kind)
        pieces_.back().text += text;
    else
        pieces_.push_back({kind, std::string(text)});
}

std::vector<ToolCallPiece> ToolCallReader::read(std::string_view text) {
    if (channels_) return channels_->read(text);
    read_piece(thoughts_.read(text));
    return std::exchange(pieces_, {});
}

void ToolCallReader::read_piece(const ThoughtReader::Piece& piece) {
    add(PieceKind::Thought, piece.thought);
    if (!format_)
        add(PieceKind::Text, piece.text);
    else
        for (const char c : piece.text) read_byte(c);
}

std::vector<ToolCallPiece> ToolCallReader::finish() {
    if (channels_) return channels_->finish();
    read_piece(thoughts_.finish());
    // After a call, white space and the beginning of a marker belong to a call that did not come.
    const bool of_call = calls_ > 0 && (without_spaces_after(pending_).empty() || start_->undecided());
    if (place_ == Place::Text && !of_call) add(PieceKind::Text, pending_);
    return std::exchange(pieces_, {});
}

void ToolCallReader::read_byte(char c) {
    switch (place_) {
        case Place::Text:
            return read_text(c);
        case Place::Object:
            return read_object(c);
        case Place::Closing:
            return read_closing(c);
        case Place::List:
            return read_list(c);
        case Place::Name:
            return read_name(c);
        case Place::Arguments:
            add(PieceKind::Arguments, {&c, 1});
            if (end_.read(c) == JsonValueEnd::Step::Last) place_ = Place::Text;
    }
}

void ToolCallReader::read_text(char c) {
    pending_ += c;
    if (start_->read(c)) return begin_call();
    if (start_->undecided() || is_white_space(c)) return;
    add(PieceKind::Text, pending_);
    pending_.clear();
}

// After the opening of a call, which is the end of pending_.
void ToolCallReader::begin_call() {
    const bool bare = start_->is_bare();
    const std::size_t before = bare ? pending_.find('{') : pending_.size() - start_->opening().size();
    const std::string opening = pending_.substr(before);
    add(PieceKind::Text, without_spaces_after(std::string_view(pending_).substr(0, before)));
    pending_.clear();
    start_->restart();
    in_list_ = false;
    object_ = {};
    named_ = false;
    const bool mistral = *format_ == ToolFormat::Mistral || *format_ == ToolFormat::MistralArgs;
    place_ = mistral ? Place::List : Place::Object;
    raw_ = bare ? "" : opening;
    if (bare)
        for (const char c : opening) read_object(c);
}

void ToolCallReader::read_object(char c) {
    if (!named_) raw_ += c;
    const CallObject::Step step = object_.read(c);
    if (!named_ && object_.name()) {
        add(PieceKind::Name, *object_.name());
        named_ = true;
        raw_.clear();
    }
    if (named_) add(PieceKind::Arguments, object_.take_arguments());
    if (step == CallObject::Step::Broken) return give_up();
    if (step == CallObject::Step::More) return;
    place_ = in_list_ ? Place::List : *format_ == ToolFormat::Hermes ? Place::Closing : Place::Text;
}

void ToolCallReader::read_closing(char c) {
    const std::size_t matched = pending_.size();
    if (matched == 0 && is_white_space(c)) return;
    pending_ += c;
    if (c != kClosingTag[matched]) {  // the tag is missing
        place_ = Place::Text;
        for (const char each : std::exchange(pending_, {})) read_text(each);
    } else if (pending_ == kClosingTag) {
        pending_.clear();
        place_ = Place::Text;
    }
}

// Between calls of Mistral models: in older ones the marker is followed by a list, in newer ones by a name.
void ToolCallReader::read_list(char c) {
    raw_ += c;
    if (is_white_space(c)) return;
    if (!in_list_ && c == '[') {
        in_list_ = true;
    } else if (!in_list_) {
        place_ = Place::Name;
        name_ = c;
    } else if (c == '{') {
        raw_.pop_back();
        object_ = {};
        named_ = false;
        place_ = Place::Object;
        read_object(c);
    } else if (c == ']') {
        place_ = Place::Text;
        if (calls_ == 0) return give_up();
        raw_.clear();
    } else if (c != ',') {
        give_up();
    }
}

void ToolCallReader::read_name(char c) {
    raw_ += c;
    if (c != '{') {
        name_ += c;
        if (name_.size() > longest_tool_name) give_up();
        return;
    }
    // Between the name and the arguments stand [ARGS], and in some models [CALL_ID] with an id before it.
    name_ = without_spaces_after(std::string_view(name_).substr(0, name_.find('[')));
    if (name_.empty()) return give_up();
    raw_.clear();
    add(PieceKind::Name, name_);
    add(PieceKind::Arguments, "{");
    end_ = {};
    end_.read('{');
    place_ = Place::Arguments;
}

// What seemed to be a call is text.
void ToolCallReader::give_up() {
    add(PieceKind::Text, std::exchange(raw_, {}));
    place_ = Place::Text;
}

ReadAnswer read_answer(std::optional<ToolFormat> format, std::string_view text, Thoughts thoughts) {
    ReadAnswer answer;
    ToolCallReader reader(format, thoughts);
    for (auto pieces : {reader.read(text), reader.finish()})
        for (ToolCallPiece& piece : pieces) {
            if (piece.kind == PieceKind::Thought) answer.thought += piece.text;
            if (piece.kind == PieceKind::Text) answer.text += piece.text;
            if (piece.kind == PieceKind::Name) answer.calls.push_back({std::move(piece.text), {}});
            if (piece.kind == PieceKind::Arguments) answer.calls.back().arguments += piece.text;
        }
    return answer;
}

}  // namespace voltpile::llm
