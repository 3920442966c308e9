#include "llm/grammar/call_object.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace voltpile::llm {
namespace {

constexpr std::size_t longest_member_bytes = 1024;  // of a key or a name; longer ones are no call

bool is_json_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// Returns the text in quotes; nothing if it is no JSON string.
std::optional<std::string> unquoted(const std::string& quoted) {
    const nlohmann::json value = nlohmann::json::parse(quoted, nullptr, false);
    if (!value.is_string()) return std::nullopt;
    return value.get<std::string>();
}

}  // namespace

JsonValueEnd::Step JsonValueEnd::read(char c) {
    if (in_text_) {
        const bool ends = c == '"' && !escaped_;
        escaped_ = c == '\\' && !escaped_;
        if (ends) in_text_ = false;
        return ends && depth_ == 0 ? Step::Last : Step::Inside;
    }
    const bool first = !std::exchange(begun_, true);
    if (c == '"') {
        in_text_ = true;
    } else if (c == '{' || c == '[') {
        ++depth_;
    } else if (c == '}' || c == ']') {
        if (first) return Step::Broken;
        if (depth_ == 0) return Step::After;
        if (--depth_ == 0) return Step::Last;
    } else if (depth_ == 0 && (c == ',' || c == ':' || is_json_space(c))) {
        return first ? Step::Broken : Step::After;
    }
    return Step::Inside;
}

CallObject::Step CallObject::read(char c) {
    if (at_ != At::InKey && at_ != At::InValue && is_json_space(c)) return Step::More;
    switch (at_) {
        case At::Object:
            at_ = At::FirstKey;
            return c == '{' ? Step::More : Step::Broken;
        case At::FirstKey:
            if (c == '}') return end_object();
            [[fallthrough]];
        case At::Key:
            key_ = c;
            end_ = {};
            end_.read(c);
            at_ = At::InKey;
            return c == '"' ? Step::More : Step::Broken;
        case At::InKey: {
            key_ += c;
            if (key_.size() > longest_member_bytes) return Step::Broken;
            if (end_.read(c) != JsonValueEnd::Step::Last) return Step::More;
            const auto key = unquoted(key_);
            if (!key) return Step::Broken;
            key_ = *key;
            at_ = At::Colon;
            return Step::More;
        }
        case At::Colon:
            at_ = At::Value;
            return c == ':' ? Step::More : Step::Broken;
        case At::Value:
            if (is_arguments() && (c != '{' || has_arguments_)) return Step::Broken;
            at_ = At::InValue;
            end_ = {};
            value_.clear();
            return read_value(c);
        case At::InValue:
            return read_value(c);
        case At::AfterValue:
            if (c == '}') return end_object();
            at_ = At::Key;
            return c == ',' ? Step::More : Step::Broken;
    }
    return Step::Broken;
}

CallObject::Step CallObject::read_value(char c) {
    const JsonValueEnd::Step step = end_.read(c);
    if (step == JsonValueEnd::Step::Broken) return Step::Broken;
    if (step == JsonValueEnd::Step::After) {
        if (end_value() == Step::Broken) return Step::Broken;
        return read(c);
    }
    if (is_arguments())
        arguments_ += c;
    else if (key_ == "name" && value_.size() < longest_member_bytes)
        value_ += c;
    return step == JsonValueEnd::Step::Last ? end_value() : Step::More;
}

CallObject::Step CallObject::end_value() {
    at_ = At::AfterValue;
    has_arguments_ = has_arguments_ || is_arguments();
    if (key_ != "name") return Step::More;
    if (name_) return Step::Broken;
    name_ = unquoted(value_);
    return name_ && !name_->empty() ? Step::More : Step::Broken;
}

CallObject::Step CallObject::end_object() {
    if (!name_) return Step::Broken;
    if (!has_arguments_) arguments_ = "{}";
    return Step::Done;
}

}  // namespace voltpile::llm
