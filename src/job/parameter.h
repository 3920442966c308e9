// Names of single numbers: "position[0].x", "integrate.dt". Used by sweep axes and by --set.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "job/key_table.h"

namespace voltpile {

// "a.b[2].x" is {"a"}, {"b"}, {2}, {"x"}.
struct PathStep {
    std::string name;
    int index = -1;  // >= 0: an index, and no name
};

// Nothing if the text is no such path.
std::optional<std::vector<PathStep>> parse_path(std::string_view text);

struct Parameter {
    const KeySpec* spec = nullptr;
    int element = 0;    // row-major
    std::string path;   // "system.position[0].x"
    std::string label;  // "position_0_x": default name of an axis over it
};

// The sweepable number that `text` names, or why it names none. length_of gives the number of elements that
// the value of a key has in this job; 0: unknown.
using Resolved = std::variant<Parameter, std::string>;
Resolved resolve_parameter(const std::string& text, const KeyTable& table,
                           const std::function<std::size_t(const KeySpec&)>& length_of);

}  // namespace voltpile
