#include "llm/chat/jinja/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/print.h"
#include "llm/chat/jinja/python_text.h"
#include "llm/tokenizer/utf8.h"

namespace voltpile::llm::jinja {

namespace {

class JsonWriter {
  public:
    JsonWriter(Interpreter& interpreter, const JsonStyle& style) : in_(interpreter), style_(style) {}

    void add(const Value& value, int level) {
        const std::size_t before = out_.size();
        in_.spend(kStepCost);
        switch (value.kind()) {
            case Kind::None:
                out_ += "null";
                break;
            case Kind::Bool:
                out_ += value.truth() ? "true" : "false";
                break;
            case Kind::Int:
                out_ += std::to_string(value.integer());
                break;
            case Kind::Float:
                out_ += real(value.real());
                break;
            case Kind::Text:
                add_text(value.text());
                break;
            case Kind::List:
                if (value.list().form > ListForm::Group) fail(value);
                add_list(value.items(), level);
                return;
            case Kind::Map:
                add_map(value.entries(), level);
                return;
            default:
                fail(value);
        }
        in_.spend(out_.size() - before);
    }

    std::string take() { return std::move(out_); }

  private:
    [[noreturn]] static void fail(const Value& value) {
        throw Problem(fmt::format("tojson: an object of type {} is not JSON", type_name(value)));
    }

    static std::string real(double number) {
        if (std::isnan(number)) return "NaN";
        if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
        return printed_real(number);
    }

    void begin_line(int level) {
        if (!style_.indent) return;
        in_.spend(style_.indent->size() * static_cast<std::size_t>(level) + 1);
        out_ += '\n';
        for (int i = 0; i < level; ++i) out_ += *style_.indent;
    }

    void add_list(const Values& items, int level) {
        out_ += '[';
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (i > 0) out_ += style_.item_separator;
            begin_line(level + 1);
            add(items[i], level + 1);
        }
        if (!items.empty()) begin_line(level);
        out_ += ']';
    }

    void add_map(const Entries& entries, int level) {
        std::vector<std::pair<std::string, const Value*>> named;
        for (const auto& [key, value] : entries) named.emplace_back(key_text(key), &value);
        if (style_.sorted_keys)
            std::ranges::stable_sort(named, {}, &std::pair<std::string, const Value*>::first);
        out_ += '{';
        for (std::size_t i = 0; i < named.size(); ++i) {
            if (i > 0) out_ += style_.item_separator;
            begin_line(level + 1);
            in_.spend(named[i].first.size());
            add_text(named[i].first);
            out_ += style_.key_separator;
            add(*named[i].second, level + 1);
        }
        if (!named.empty()) begin_line(level);
        out_ += '}';
    }

    static std::string key_text(const Value& key) {
        switch (key.kind()) {
            case Kind::Text:
                return key.text();
            case Kind::None:
                return "null";
            case Kind::Bool:
                return key.truth() ? "true" : "false";
            case Kind::Int:
                return std::to_string(key.integer());
            case Kind::Float:
                return real(key.real());
            default:
                throw Problem(fmt::format("tojson: a key of type {} is not JSON", type_name(key)));
        }
    }

    void add_text(std::string_view text) {
        out_ += '"';
        if (style_.ascii_only) {
            for (const std::string_view each : characters(text)) add_ascii(each);
        } else {
            for (const char c : text) add_byte(c);
        }
        out_ += '"';
    }

    void add_ascii(std::string_view character) {
        const std::uint32_t c = first_character(character).code_point;
        if (c < 0x7F)
            add_byte(character.front());
        else if (c < 0x10000)
            out_ += fmt::format("\\u{:04x}", c);
        else
            out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0 + (c >> 10), 0xDC00 + (c & 0x3FF));
    }

    void add_byte(char c) {
        switch (c) {
            case '"':
                out_ += "\\\"";
                break;
            case '\\':
                out_ += "\\\\";
                break;
            case '\n':
                out_ += "\\n";
                break;
            case '\r':
                out_ += "\\r";
                break;
            case '\t':
                out_ += "\\t";
                break;
            case '\b':
                out_ += "\\b";
                break;
            case '\f':
                out_ += "\\f";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20)
                    out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
                else
                    out_ += c;
        }
    }

    Interpreter& in_;
    const JsonStyle& style_;
    std::string out_;
};

}  // namespace

std::string json_text(Interpreter& interpreter, const Value& value, const JsonStyle& style) {
    JsonWriter writer(interpreter, style);
    writer.add(value, 0);
    return writer.take();
}

}  // namespace voltpile::llm::jinja
