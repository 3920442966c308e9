// A node of the document as the value of a key: type, shape, range and choices are checked.
#pragma once

#include <optional>
#include <string>

#include "job/document.h"
#include "job/key_spec.h"
#include "job/problems.h"

namespace voltpile {

// Nothing if something was wrong with it: then that has been added to `problems`.
std::optional<Value> read_value(const KeySpec& spec, const Node& node, Problems& problems);

// A value as it could have been written in the file.
Node make_node(const Value& value, const std::vector<int>& shape, Origin origin);

}  // namespace voltpile
