#include "llm/chat/jinja/print.h"

#include <charconv>
#include <cmath>

#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/object.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

namespace {

void add_represented(Interpreter& in, std::string& out, const Value& value);

void add_items(Interpreter& in, std::string& out, const Values& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0) out += ", ";
        add_represented(in, out, items[i]);
    }
}

// The last element of a range is not its end, so a range prints the least end that gives these elements.
void add_range(std::string& out, const Values& items) {
    const std::int64_t first = items.empty() ? 0 : items.front().integer();
    const std::int64_t step = items.size() < 2 ? 1 : items[1].integer() - first;
    const std::int64_t end = items.empty() ? 0 : items.back().integer() + (step > 0 ? 1 : -1);
    out += "range(" + std::to_string(first) + ", " + std::to_string(end);
    if (step != 1) out += ", " + std::to_string(step);
    out += ')';
}

void add_list(Interpreter& in, std::string& out, const List& list) {
    switch (list.form) {
        case ListForm::List:
            out += '[';
            add_items(in, out, list.items);
            out += ']';
            break;
        case ListForm::Tuple:
        case ListForm::Group:
            out += '(';
            add_items(in, out, list.items);
            out += list.items.size() == 1 ? ",)" : ")";
            break;
        case ListForm::Range:
            add_range(out, list.items);
            break;
        case ListForm::KeyView:
        case ListForm::ValueView:
        case ListForm::ItemView:
            out += list.form == ListForm::KeyView     ? "dict_keys(["
                   : list.form == ListForm::ValueView ? "dict_values(["
                                                      : "dict_items([";
            add_items(in, out, list.items);
            out += "])";
            break;
    }
}

void add_map(Interpreter& in, std::string& out, const Entries& entries) {
    out += '{';
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (i > 0) out += ", ";
        add_represented(in, out, entries[i].first);
        out += ": ";
        add_represented(in, out, entries[i].second);
    }
    out += '}';
}

void add_represented(Interpreter& in, std::string& out, const Value& value) {
    const Interpreter::Nested nested(in);  // namespaces can contain themselves
    in.spend(kStepCost);
    const std::size_t before = out.size();
    switch (value.kind()) {
        case Kind::None:
            out += "None";
            break;
        case Kind::Undefined:
            out += "Undefined";
            break;
        case Kind::Bool:
            out += value.truth() ? "True" : "False";
            break;
        case Kind::Int:
            out += std::to_string(value.integer());
            break;
        case Kind::Float:
            out += printed_real(value.real());
            break;
        case Kind::Text:
            in.spend(value.text().size());
            out += value.is_safe() ? "Markup(" + quoted(value.text()) + ")" : quoted(value.text());
            return;
        case Kind::List:
            add_list(in, out, value.list());
            return;
        case Kind::Map:
            add_map(in, out, value.entries());
            return;
        case Kind::Stream:
            out += "<generator object>";
            break;
        case Kind::Object:
            out += value.object().printed(in);
            break;
    }
    in.spend(out.size() - before);
}

}  // namespace

std::string printed(Interpreter& interpreter, const Value& value) {
    if (value.is(Kind::Text)) return value.text();
    if (value.is(Kind::Undefined)) return {};
    return represented(interpreter, value);
}

std::string represented(Interpreter& interpreter, const Value& value) {
    std::string out;
    add_represented(interpreter, out, value);
    return out;
}

std::string printed_map(Interpreter& interpreter, const Entries& entries) {
    std::string out;
    add_map(interpreter, out, entries);
    return out;
}

std::string printed_real(double number) {
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
    char buffer[400];
    const double size = std::abs(number);
    const bool exponent = size != 0 && (size < 1e-4 || size >= 1e16);
    const auto result = std::to_chars(buffer, buffer + sizeof buffer, number,
                                      exponent ? std::chars_format::scientific : std::chars_format::fixed);
    std::string text(buffer, result.ptr);
    if (!exponent && text.find('.') == std::string::npos) text += ".0";
    return text;
}

}  // namespace voltpile::llm::jinja
