#include "comm/collective/peer_kernels.cuh"

namespace voltpile {

void launch_low_latency(PeerAlgorithm algorithm, const PeerView& view, const PeerMessage& message,
                        PeerShape shape, const Stream& stream) {
    launch_on_wire<LowLatencyWire>(algorithm, view, message, shape, stream);
}

void load_low_latency(int size) {
    load_wire<LowLatencyWire>(size);
}

}  // namespace voltpile
