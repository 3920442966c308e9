// Overrides (--set key=value): changes to the document before validation.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "job/document.h"
#include "job/key_table.h"
#include "job/parameter.h"
#include "job/problems.h"

namespace voltpile {

struct Override {
    std::vector<PathStep> path;
    Node value;
    Origin origin;
};

// Parses overrides. Reports malformed ones and leaves them out.
std::vector<Override> parse_overrides(std::span<const std::string> texts, Problems& problems);

// Applies one override. `sweep.NAME.key` addresses the axis of that name; [i] addresses an element of a list,
// as do .x .y .z for a vector in space. An element of a value that is not in the document changes that
// element of the default.
void apply_override(Node& document, const Override& change, const KeyTable& table, Problems& problems);

// Returns the name of an axis: as given, else made from its parameter, else "".
std::string axis_name(const Node& axis, const KeyTable& table);

}  // namespace voltpile
