// Collectives by NCCL, in builds with CUDA and NCCL (VOLTPILE_NCCL).
#pragma once

#include <memory>
#include <string>

#include "comm/collective/stream_communicator.h"

namespace voltpile {

// Returns "2.28.9"; empty if NCCL is not built in or cannot be loaded here.
std::string nccl_version();

// Collective: every rank calls. Returns whether all of them have NCCL.
bool nccl_on_all(const Communicator& group);

// Collective: every rank calls. The current GPU (use_device) is this rank's; no two ranks share one. NVLink
// multicast (NVLS) stays off: it needs the links of one NVSwitch generation, and the switch sums in an order
// of its own. Throws CommError, naming the hosts, if NCCL cannot start within the deadline, cannot be loaded
// or is not built in.
//
// No call waits for peers inside NCCL (blocking = 0): a call that cannot continue is canceled at the
// deadline, or by abort().
std::unique_ptr<StreamCommunicator> make_nccl_communicator(const Communicator& group, double deadline_s);

}  // namespace voltpile
