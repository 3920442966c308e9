// How CUDA_VISIBLE_DEVICES names the GPUs of ranks.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace voltpile::command {

// Returns the entries of CUDA_VISIBLE_DEVICES for these ranks of one host, as this process sees its GPUs:
// CUDA's numbers, or the entries of its own CUDA_VISIBLE_DEVICES. Empty without GPUs.
std::vector<std::string> visible_gpus(const std::vector<RankPlan>& ranks);

}  // namespace voltpile::command
