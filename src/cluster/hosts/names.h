// Names and addresses as this host sees them.
#pragma once

#include <string>
#include <vector>

#include "cluster/hosts/report.h"

namespace voltpile {

// The addresses of each name, all asked for at the same time; a name without an answer after so many seconds
// has that as its error.
std::vector<ResolvedName> resolve_names(const std::vector<std::string>& names, int seconds);

// "127.0.1.1", "::1"
bool is_loopback(const std::string& address);

}  // namespace voltpile
