// Collectives by NCCL. Only where the build has CUDA and NCCL (VOLTPILE_NCCL).
#pragma once

#include <memory>
#include <string>

#include "comm/collective/stream_communicator.h"

namespace voltpile {

// "2.28.9"; empty: not built in.
std::string nccl_version();

// Collective: every rank calls. The current GPU (use_device) is this rank's; no two ranks share one. NVLink
// multicast (NVLS) stays off: the links it needs are those of one NVSwitch generation only, and the switch
// sums in an order of its own. Throws CommError, naming the hosts, if NCCL cannot start within the deadline,
// or is not built in.
//
// Nothing waits for peers inside NCCL (blocking = 0): a call that cannot go on is given up at the deadline,
// or by abort().
std::unique_ptr<StreamCommunicator> make_nccl_communicator(const Communicator& group, double deadline_s);

}  // namespace voltpile
