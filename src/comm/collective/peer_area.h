// GPU memory that the kernels of all ranks of a group reach.
#pragma once

#include "comm/collective/peer_layout.h"

namespace voltpile {

// Memory of the same size on every rank's GPU, for kernels that join a collective with other work. They wait
// for each other as collectives do (peer_wire.cuh), in one order with the collectives of the communicator
// that made the area. Destroy it before that, collectively, with idle streams.
struct PeerArea {
    virtual ~PeerArea() = default;

    PeerView view;                // of the communicator's mailboxes
    char* own = nullptr;          // this rank's memory, zero at first
    char* peer[max_peers - 1]{};  // peer[p - 1]: that of rank (rank + p) % size
};

}  // namespace voltpile
