// What connects two ranks, and what it could carry at best.
#pragma once

#include <string>

#include "plan/plan.h"

namespace voltpile {

struct RankLink {
    std::string text;               // "NVLink", "PCIe", "network", "host memory"
    double theory_bytes_per_s = 0;  // one direction; 0: not known
};

// Between the GPUs of two ranks if both have one, else between their hosts' memories. Two ranks on one host
// are on one link whatever cluster.ranks_per_node says.
RankLink link_between(const Plan& plan, int a, int b);

}  // namespace voltpile
