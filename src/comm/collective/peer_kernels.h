// Launches the kernels of collectives between GPUs that reach each other's memory.
#pragma once

#include "comm/collective/peer_layout.h"
#include "device/stream.h"

namespace voltpile {

struct PeerShape {
    int blocks = 1;     // at most max_peer_blocks
    int threads = 256;  // per block, a multiple of 32, at most max_peer_threads
};

// Each enqueues one call, or one piece of one: every rank calls with the same algorithm, bytes and shape.
// Throws DeviceError if the launch is refused.
void launch_low_latency(PeerAlgorithm algorithm, const PeerView& view, const PeerMessage& message,
                        PeerShape shape, const Stream& stream);
void launch_flagged(PeerAlgorithm algorithm, const PeerView& view, const PeerMessage& message,
                    PeerShape shape, const Stream& stream);

// Enqueues one piece of a message between two ranks, at most send_slot_bytes. p: the peer, as in PeerView.
void launch_send(const PeerView& view, int p, const void* from, unsigned bytes, const Stream& stream);
void launch_receive(const PeerView& view, int p, void* to, unsigned bytes, const Stream& stream);

// Loads the kernels for a group of this size onto the GPU. CUDA would do that at the first launch and wait
// for the GPU meanwhile, which may wait for a peer that waits for this launch.
void load_low_latency(int size);
void load_flagged(int size);
void load_send();

}  // namespace voltpile
