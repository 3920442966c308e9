// A TOML text as a plain tree that remembers where everything stands. document.cpp alone knows the TOML
// library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile {

// Where a value was written: a line of the file, or an override given with --set.
struct Origin {
    int line = 0;             // 0: unknown
    int override_index = -1;  // into the overrides; -1: the file
};

enum class NodeKind { Table, List, Text, Integer, Real, Boolean, Date };

struct Node {
    NodeKind kind = NodeKind::Table;
    Origin origin;
    std::string text;
    std::int64_t integer = 0;
    double real = 0;
    bool boolean = false;
    std::vector<Node> items;        // of a list or of a table
    std::vector<std::string> keys;  // of a table: keys[i] names items[i]

    const Node* find(std::string_view key) const;
    Node* find(std::string_view key);
    const Node* find_path(std::string_view dotted) const;  // "integrate.steps"
    void set(const std::string& key, Node value);          // replaces an entry or appends one
};

// Throws JobError, `path:line:column: message`, if the text is not TOML, or nests its keys deeper than any
// job file.
Node parse_document(const std::string& text, const std::string& path);

// A single TOML value, as in `--set key=value`; a bare word is taken as text. Throws JobError without a
// place.
Node parse_value(const std::string& text);

// As messages show it: scalars in TOML, long texts shortened, control characters escaped; lists and tables as
// "[...]".
std::string shown(const Node& node);
std::string shown(std::string_view text);  // without quotes

// "a text", "an integer", "a list of 2", ...
std::string kind_name(const Node& node);

}  // namespace voltpile
