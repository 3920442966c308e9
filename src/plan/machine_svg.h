// Draws the devices of a host and the links between them.
#pragma once

#include <string>

#include "plan/topology.h"

namespace voltpile {

// Returns an SVG picture: the tree of machine_tree() from the host down to the devices, and the NVLinks
// below.
std::string machine_svg(const Host& host);

}  // namespace voltpile
