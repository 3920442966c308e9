// Faults of the link that connects a rank to the others, by VOLTPILE_FAULT as in base/fault.h.
//
//   VOLTPILE_FAULT="drop:rank=1,message=40"            nothing that rank 1 sends from its 40th message on
//   arrives VOLTPILE_FAULT="lossy:ms=200,rank=1,message=1"
//
// action   what happens
// drop     this message and all later ones of the process are lost, as on a link that is cut
// lossy    this message and every tenth one after it leave `ms` late, as on a link that loses packets and
//          sends them again; messages behind a late one wait for it
//
// The place `message` counts, from 1, what a process sends to other ranks: messages over MPI, those of
// collectives on host memory and of watchdogs included, and over UCX. Collectives that MPI or NCCL runs by
// itself do not count. The actions of base/fault.h that strike anywhere strike here as well.
#pragma once

#include "base/fault.h"

namespace voltpile {

namespace fault_detail {
bool lose_message();
}  // namespace fault_detail

// Call it right before a message to another rank is sent. Returns true if the link loses it: then do not send
// it, and continue as if it had been sent. Waits here if the link delays it.
inline bool message_lost() {
    return fault_detail::armed.load(std::memory_order_relaxed) && fault_detail::lose_message();
}

}  // namespace voltpile
