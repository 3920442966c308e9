#include "comm/peer_kernels.cuh"

namespace voltpile {

void launch_line128(PeerAlgorithm algorithm, const PeerView& view, const PeerMessage& message,
                    PeerShape shape, const Stream& stream) {
    launch_on_wire<Line128Wire>(algorithm, view, message, shape, stream);
}

void load_line128(int size) {
    load_wire<Line128Wire>(size);
}

}  // namespace voltpile
