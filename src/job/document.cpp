#include "job/document.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/error.h"

namespace voltpile {
namespace {

// Keys with more dots are rejected: the TOML library recurses once per level of nesting. It limits nested
// lists and inline tables by itself, but not the dots of a key (`a.a.a.a... = 1`).
constexpr int max_key_dots = 8;

// Returns the first line on which a key has more than max_key_dots dots; 0 if there is none.
int line_nested_too_deeply(std::string_view toml) {
    int line = 1;
    int dots = 0;
    std::string_view quote;  // what ends the string that we are in; "\n" for a comment
    for (std::size_t i = 0; i < toml.size(); ++i) {
        const char c = toml[i];
        if (!quote.empty()) {
            const bool escapes = quote.front() == '"' && c == '\\';
            if (escapes && i + 1 < toml.size() && toml[i + 1] != '\n') {
                ++i;
            } else if (toml.substr(i).starts_with(quote)) {
                i += quote.size() - 1;
                quote = {};
            } else if (c == '\n' && quote.size() == 1) {
                quote = {};  // unterminated: the library will say so
            }
            if (c == '\n') {
                ++line;
                if (quote.empty()) dots = 0;
            }
            continue;
        }
        switch (c) {
            case '"':
                quote = toml.substr(i).starts_with("\"\"\"") ? "\"\"\"" : "\"";
                break;
            case '\'':
                quote = toml.substr(i).starts_with("'''") ? "'''" : "'";
                break;
            case '#':
                quote = "\n";
                break;
            case '.':
                if (++dots > max_key_dots) return line;
                break;
            case '\n':
                ++line;
                [[fallthrough]];
            case ',':
            case '=':
            case '[':
            case ']':
            case '{':
            case '}':
                dots = 0;
                break;
            default:
                break;
        }
        if (!quote.empty() && quote != "\n") i += quote.size() - 1;
    }
    return 0;
}

int line_of(const toml::source_region& region) {
    return static_cast<int>(region.begin.line);
}

Node convert(const toml::node& from, int line) {
    Node node;
    if (line_of(from.source()) > 0) line = line_of(from.source());
    node.origin.line = line;
    node.origin.column = static_cast<int>(from.source().begin.column);
    switch (from.type()) {
        case toml::node_type::table:
            node.kind = NodeKind::Table;
            for (const auto& [key, value] : *from.as_table()) {
                // Errors in a value that spans lines name the line of its key.
                const int key_line = line_of(key.source()) > 0 ? line_of(key.source()) : line;
                node.keys.emplace_back(key.str());
                node.items.push_back(convert(value, key_line));
            }
            break;
        case toml::node_type::array:
            node.kind = NodeKind::List;
            for (const auto& item : *from.as_array()) node.items.push_back(convert(item, line));
            break;
        case toml::node_type::string:
            node.kind = NodeKind::Text;
            node.text = from.as_string()->get();
            break;
        case toml::node_type::integer:
            node.kind = NodeKind::Integer;
            node.integer = from.as_integer()->get();
            break;
        case toml::node_type::floating_point:
            node.kind = NodeKind::Real;
            node.real = from.as_floating_point()->get();
            break;
        case toml::node_type::boolean:
            node.kind = NodeKind::Boolean;
            node.boolean = from.as_boolean()->get();
            break;
        default:
            node.kind = NodeKind::Date;
    }
    return node;
}

// The library cannot know that a repeated [sweep] should have been [[sweep]].
std::string_view hint(std::string_view description) {
    const bool repeated = description.find("redefine existing table 'sweep'") != std::string_view::npos;
    return repeated ? "; begin each axis with [[sweep]], with two brackets on each side" : "";
}

bool is_bare_word(const std::string& text) {
    const char first = text.front();
    const bool starts_like_a_word = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') ||
                                    first == '_' || first == '/' || first == '.';
    return starts_like_a_word && text.find_first_of("\"'\n\r#={}") == std::string::npos;
}

}  // namespace

const Node* Node::find(std::string_view key) const {
    for (std::size_t i = 0; i < keys.size(); ++i)
        if (keys[i] == key) return &items[i];
    return nullptr;
}

Node* Node::find(std::string_view key) {
    return const_cast<Node*>(std::as_const(*this).find(key));
}

const Node* Node::find_path(std::string_view dotted) const {
    const auto dot = dotted.find('.');
    if (dot == std::string_view::npos) return find(dotted);
    const Node* const table = find(dotted.substr(0, dot));
    return table ? table->find_path(dotted.substr(dot + 1)) : nullptr;
}

void Node::set(const std::string& key, Node value) {
    if (Node* const existing = find(key)) {
        *existing = std::move(value);
        return;
    }
    keys.push_back(key);
    items.push_back(std::move(value));
}

Node parse_document(const std::string& text, const std::string& path) {
    if (const int line = line_nested_too_deeply(text))
        throw JobError(fmt::format("{}:{}: this key has more than {} dots; job files do not nest that deeply",
                                   path, line, max_key_dots));
    try {
        return convert(toml::parse(text, path), 0);
    } catch (const toml::parse_error& error) {
        const auto& begin = error.source().begin;
        throw JobError(fmt::format("{}:{}:{}: {}{}", path, begin.line, begin.column,
                                   shown(error.description()), hint(error.description())));
    }
}

Node parse_value(const std::string& text) {
    if (text.empty()) throw JobError("the value is missing");
    if (line_nested_too_deeply(text)) throw JobError("the value has a key with too many dots");
    try {
        // The newline ends a trailing comment.
        const toml::table table = toml::parse("value = " + text + "\n");
        if (table.size() == 1) return convert(*table.get("value"), 0);
        throw JobError("expected one TOML value, found several");
    } catch (const toml::parse_error& error) {
        if (!is_bare_word(text))
            throw JobError(fmt::format("not a TOML value: {}", shown(error.description())));
        Node word;
        word.kind = NodeKind::Text;
        word.text = text;
        return word;
    }
}

std::string shown(std::string_view text) {
    constexpr std::size_t longest = 160;
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        // Cut between characters: in UTF-8, bytes 10xxxxxx continue one.
        if (result.size() >= longest && (c & 0xC0) != 0x80) return result + "...";
        if (c < 0x20 || c == 0x7F)
            result += fmt::format("\\x{:02x}", c);
        else
            result += static_cast<char>(c);
    }
    return result;
}

std::string shown(const Node& node) {
    switch (node.kind) {
        case NodeKind::Text:
            return '"' + shown(node.text) + '"';
        case NodeKind::Integer:
            return fmt::format("{}", node.integer);
        case NodeKind::Real: {
            const auto number = fmt::format("{}", node.real);
            const bool like_integer = number.find_first_not_of("-0123456789") == std::string::npos;
            return like_integer ? number + ".0" : number;
        }
        case NodeKind::Boolean:
            return node.boolean ? "true" : "false";
        case NodeKind::List:
            return node.items.empty() ? "[]" : "[...]";
        case NodeKind::Table:
            return "{...}";
        case NodeKind::Date:
            return "a date";
    }
    return "";
}

std::string kind_name(const Node& node) {
    switch (node.kind) {
        case NodeKind::Text:
            return "a string";
        case NodeKind::Integer:
            return "an integer";
        case NodeKind::Real:
            return "a real number";
        case NodeKind::Boolean:
            return "true or false";
        case NodeKind::List:
            return node.items.empty() ? "an empty list" : fmt::format("a list of {}", node.items.size());
        case NodeKind::Table:
            return "a table";
        case NodeKind::Date:
            return "a date or time";
    }
    return "";
}

}  // namespace voltpile
