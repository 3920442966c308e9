// Which entries of a host file are the host that this process runs on.
#pragma once

#include <span>
#include <vector>

#include "cluster/hosts/host_file.h"

namespace voltpile {

// Returns for each entry whether it is this host, by its name or by one of its addresses. Resolves the names,
// for at most five seconds.
std::vector<bool> which_are_this_host(std::span<const HostEntry> entries);

}  // namespace voltpile
