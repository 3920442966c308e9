// Converts between nodes of a document and values of keys.
#pragma once

#include <optional>
#include <string>

#include "job/document.h"
#include "job/key_spec.h"
#include "job/problems.h"

namespace voltpile {

// Checks type, shape, range and choices. Returns nothing after reporting problems.
std::optional<Value> read_value(const KeySpec& spec, const Node& node, Problems& problems);

// Returns a value as a node, as if it had been written at `origin`. shape: KeySpec::shape.
Node make_node(const Value& value, const std::vector<int>& shape, Origin origin);

}  // namespace voltpile
