#pragma once

#include <string>

namespace voltpile {

// This host's name, as the kernel has it.
std::string host_name();

// Differs between hosts that share a name: with the id of this boot.
std::string host_identity();

}  // namespace voltpile
