#include "llm/chat/jinja/format_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "llm/chat/jinja/access.h"
#include "llm/chat/jinja/compare.h"
#include "llm/chat/jinja/format_spec.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/print.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

namespace {

// Reads a format from its beginning on.
class FormatReader {
  public:
    FormatReader(Interpreter& in, std::string_view text) : in_(in), text_(text) {}

    bool empty() const { return text_.empty(); }
    char peek() const { return text_.empty() ? '\0' : text_.front(); }
    bool skip(char c) {
        if (text_.empty() || text_.front() != c) return false;
        text_.remove_prefix(1);
        return true;
    }
    char take() {
        if (text_.empty()) throw Problem("the format is cut off");
        const char c = text_.front();
        text_.remove_prefix(1);
        return c;
    }
    std::string_view take_until(std::string_view ends) {
        const std::size_t end = text_.find_first_of(ends);
        if (end == std::string_view::npos) throw Problem("the format is cut off");
        const std::string_view taken = text_.substr(0, end);
        text_.remove_prefix(end);
        return taken;
    }
    std::string_view take_literal(std::string_view ends) {
        const std::string_view taken = text_.substr(0, std::min(text_.find_first_of(ends), text_.size()));
        text_.remove_prefix(taken.size());
        in_.spend(taken.size());
        return taken;
    }
    std::int64_t take_number() {
        std::int64_t number = 0;
        while (peek() >= '0' && peek() <= '9') {
            number = number * 10 + (take() - '0');
            check_size(number);
        }
        return number;
    }
    std::string_view rest() const { return text_; }
    void advance(std::size_t bytes) { text_.remove_prefix(bytes); }

  private:
    Interpreter& in_;
    std::string_view text_;
};

// The values of a % format, in turn or by name.
class PercentValues {
  public:
    PercentValues(Interpreter& in, const Value& values)
        : in_(in),
          values_(values),
          is_tuple_(values.is(Kind::List) && values.list().form == ListForm::Tuple) {}

    Value next() {
        const std::size_t size = is_tuple_ ? values_.items().size() : 1;
        if (used_ >= size) throw Problem("'%': there are too few values for the format");
        return is_tuple_ ? values_.items()[used_++] : (++used_, values_);
    }

    Value named(const Value& name) {
        if (!values_.is(Kind::Map)) throw Problem("'%': the format needs a map");
        ++used_;
        const Value* value = find(in_, values_.entries(), name);
        if (!value) throw Problem(fmt::format("'%': the map has no '{}'", name.text()));
        return *value;
    }

    void check_all_used() const {
        if (values_.is(Kind::Map)) return;
        if (used_ < (is_tuple_ ? values_.items().size() : 1))
            throw Problem("'%': there are more values than the format has places");
    }

  private:
    Interpreter& in_;
    const Value& values_;
    bool is_tuple_;
    std::size_t used_ = 0;
};

std::int64_t star_or_number(FormatReader& reader, PercentValues& values) {
    if (!reader.skip('*')) return reader.take_number();
    const Value size = values.next();
    if (!size.is_integer()) throw Problem("'%': '*' needs a whole number");
    check_size(size.integer());
    return std::max<std::int64_t>(size.integer(), 0);
}

std::string one_percent(Interpreter& in, FormatReader& reader, PercentValues& values) {
    FormatSpec spec;
    std::optional<Value> value;
    if (reader.skip('(')) {
        value = values.named(reader.take_until(")"));
        reader.take();
    }
    bool zero = false;
    for (bool flag = true; flag;) {
        flag = true;
        if (reader.skip('-'))
            spec.align = '<';
        else if (reader.skip('+'))
            spec.plus = true;
        else if (reader.skip(' '))
            spec.space = true;
        else if (reader.skip('#'))
            spec.alternate = true;
        else if (reader.skip('0'))
            zero = true;
        else
            flag = false;
    }
    spec.width = star_or_number(reader, values);
    if (reader.skip('.')) spec.precision = star_or_number(reader, values);
    spec.type = reader.take();
    if (spec.type == '%') return "%";
    if (!value) value = values.next();
    if (spec.type == 's' || spec.type == 'r' || spec.type == 'a')
        return padded(in, cut(spec.type == 's' ? printed(in, *value) : represented(in, *value), spec), spec,
                      '>');
    if (spec.type == 'c')
        return padded(in, value->is(Kind::Text) ? value->text() : printed(in, *value), spec, '>');
    if (zero && !spec.align) {
        spec.fill = "0";
        spec.align = '=';
    }
    return padded(in, formatted_number(*value, spec), spec, '>');
}

// The arguments of str.format(), with counted and numbered places.
class BracesValues {
  public:
    BracesValues(Interpreter& in, const Arguments& arguments) : in_(in), arguments_(arguments) {}

    // field: "", "0", "name", each perhaps followed by ".attribute" or "[key]".
    Value find_field(std::string_view field) {
        const std::size_t end = std::min(field.find_first_of(".["), field.size());
        Value value = first(field.substr(0, end));
        for (field.remove_prefix(end); !field.empty();) {
            const bool attribute = field.front() == '.';
            const std::size_t stop = attribute ? field.find_first_of(".[", 1) : field.find(']');
            if (!attribute && stop == std::string_view::npos) throw Problem("format(): ']' is missing");
            const std::string_view name = field.substr(1, std::min(stop, field.size()) - 1);
            value = attribute ? attribute_of(in_, value, name) : item_of(in_, value, key_of(name));
            field.remove_prefix(std::min(attribute ? stop : stop + 1, field.size()));
        }
        return value;
    }

  private:
    static bool is_number(std::string_view text) {
        return !text.empty() && text.size() < 6 &&
               text.find_first_not_of("0123456789") == std::string_view::npos;
    }

    static Value key_of(std::string_view name) {
        if (is_number(name)) return std::stoi(std::string(name));
        return name;
    }

    Value first(std::string_view name) {
        if (name.empty() || is_number(name)) {
            (name.empty() ? counted_ : numbered_) = true;
            if (counted_ && numbered_) throw Problem("format(): numbered and counted places are mixed");
            const std::size_t at =
                name.empty() ? next_++ : static_cast<std::size_t>(std::stoi(std::string(name)));
            if (at >= arguments_.positional.size())
                throw Problem(fmt::format("format(): there is no argument {}", at));
            return arguments_.positional[at];
        }
        for (const auto& [each, value] : arguments_.named)
            if (each == name) return value;
        throw Problem(fmt::format("format(): there is no argument '{}'", name));
    }

    Interpreter& in_;
    const Arguments& arguments_;
    std::size_t next_ = 0;
    bool counted_ = false, numbered_ = false;
};

constexpr std::string_view kAligns = "<>=^";

FormatSpec parsed_spec(FormatReader& reader) {
    FormatSpec spec;
    const auto all = characters(reader.rest().substr(0, 8));
    if (all.size() > 1 && all[1].size() == 1 && kAligns.find(all[1].front()) != std::string_view::npos) {
        spec.fill = all[0];
        spec.align = all[1].front();
        reader.advance(all[0].size() + 1);
    } else if (!reader.empty() && kAligns.find(reader.peek()) != std::string_view::npos) {
        spec.align = reader.take();
    }
    if (reader.skip('+'))
        spec.plus = true;
    else if (reader.skip(' '))
        spec.space = true;
    else
        reader.skip('-');
    if (reader.skip('#')) spec.alternate = true;
    if (reader.skip('0') && !spec.align) {
        spec.fill = "0";
        spec.align = '=';
    }
    spec.width = reader.take_number();
    if (reader.skip(',')) spec.commas = true;
    if (reader.skip('.')) spec.precision = reader.take_number();
    if (!reader.empty()) spec.type = reader.take();
    if (!reader.empty()) throw Problem("format(): the format of a place is invalid");
    return spec;
}

std::string one_braces(Interpreter& in, FormatReader& reader, BracesValues& values) {
    Value value = values.find_field(reader.take_until("!:}"));
    if (reader.skip('!')) {
        const char conversion = reader.take();
        if (conversion != 's' && conversion != 'r') throw Problem("format(): unknown conversion");
        value = conversion == 's' ? printed(in, value) : represented(in, value);
    }
    FormatSpec spec;
    if (reader.skip(':')) {
        FormatReader inner(in, reader.take_until("}"));
        spec = parsed_spec(inner);
    }
    if (!reader.skip('}')) throw Problem("format(): '}' is missing");
    const bool as_number = value.is_number() && !(value.is(Kind::Bool) && spec.type == 0);
    if (as_number && spec.type != 's') return padded(in, formatted_number(value, spec), spec, '>');
    if (spec.type != 0 && spec.type != 's')
        throw Problem(fmt::format("format(): '{}' needs a number", spec.type));
    return padded(in, cut(printed(in, value), spec), spec, '<');
}

}  // namespace

Value percent_formatted(Interpreter& in, const Value& format, const Value& values) {
    FormatReader reader(in, format.text());
    PercentValues arguments(in, values);
    std::string text;
    while (!reader.empty()) {
        text += reader.take_literal("%");
        if (reader.empty()) break;
        reader.take();
        const std::string piece = one_percent(in, reader, arguments);
        in.spend(piece.size() + kStepCost);
        text += piece;
    }
    arguments.check_all_used();
    return in.text(std::move(text));
}

Value braces_formatted(Interpreter& in, const Value& format, const Arguments& arguments) {
    FormatReader reader(in, format.text());
    BracesValues values(in, arguments);
    std::string text;
    while (!reader.empty()) {
        text += reader.take_literal("{}");
        if (reader.empty()) break;
        const char brace = reader.take();
        if (reader.skip(brace)) {
            text += brace;
        } else if (brace == '{') {
            const std::string piece = one_braces(in, reader, values);
            in.spend(piece.size() + kStepCost);
            text += piece;
        } else {
            throw Problem("format(): '{' is missing before '}'");
        }
    }
    return in.text(std::move(text));
}

}  // namespace voltpile::llm::jinja
