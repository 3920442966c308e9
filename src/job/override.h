// --set key=value: changes to the document before it is validated.
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

// Malformed ones are reported and left out.
std::vector<Override> parse_overrides(std::span<const std::string> texts, Problems& problems);

// `sweep.NAME.key` addresses the axis of that name; an element of a list may be addressed by [i] or, of a
// vector in space, by .x .y .z. An element of a value that the document leaves out changes that element of
// the default.
void apply_override(Node& document, const Override& change, const KeyTable& table, Problems& problems);

// The name of an axis as the document gives it, or as its parameter makes it; "" if neither does.
std::string axis_name(const Node& axis, const KeyTable& table);

}  // namespace voltpile
