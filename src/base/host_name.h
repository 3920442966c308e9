#pragma once

#include <string>

namespace voltpile {

// This host's name, as the kernel has it.
std::string host_name();

}  // namespace voltpile
