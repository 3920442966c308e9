// A TOML document as a plain tree of nodes that know their lines. Only document.cpp uses the TOML library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile {

// Where a value was written: a line of the file or an override (--set).
struct Origin {
    int line = 0;             // 0: unknown
    int override_index = -1;  // index into the overrides; -1: the value is in the file
    int column = 0;           // in the line; 0: unknown
};

enum class NodeKind { Table, List, Text, Integer, Real, Boolean, Date };

struct Node {
    NodeKind kind = NodeKind::Table;
    Origin origin;
    std::string text;
    std::int64_t integer = 0;
    double real = 0;
    bool boolean = false;
    std::vector<Node> items;        // elements of a list, values of a table
    std::vector<std::string> keys;  // tables only: keys[i] names items[i]

    const Node* find(std::string_view key) const;
    Node* find(std::string_view key);
    const Node* find_path(std::string_view dotted) const;  // "integrate.steps"
    void set(const std::string& key, Node value);          // replaces an entry or appends one
};

// Parses a whole document. Throws JobError `path:line:column: message` if the text is not TOML or a key has
// too many dots.
Node parse_document(const std::string& text, const std::string& path);

// Parses a single TOML value, as in `--set key=value`. A bare word is a string. Throws JobError without a
// line.
Node parse_value(const std::string& text);

// Returns a value as messages show it: scalars in TOML, long strings shortened, control characters escaped,
// lists and tables as "[...]" and "{...}".
std::string shown(const Node& node);
std::string shown(std::string_view text);  // without quotation marks

// Returns the kind of a value with an article: "a string", "an integer", "a list of 2".
std::string kind_name(const Node& node);

}  // namespace voltpile
