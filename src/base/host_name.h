#pragma once

#include <string>

namespace voltpile {

// Returns this host's name according to the kernel.
std::string host_name();

// Returns the host's name with the id of this boot, which differs even between hosts that share a name.
std::string host_identity();

}  // namespace voltpile
