#include "comm/collective/peer_kernels.cuh"

namespace voltpile {

void launch_flagged(PeerAlgorithm algorithm, const PeerView& view, const PeerMessage& message,
                    PeerShape shape, const Stream& stream) {
    launch_on_wire<FlaggedWire>(algorithm, view, message, shape, stream);
}

void load_flagged(int size) {
    load_wire<FlaggedWire>(size);
}

}  // namespace voltpile
