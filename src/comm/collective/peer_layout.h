// A rank's mailbox: the part of its GPU's memory that its peers write into. Host and kernels share this
// layout.
//
//   header    epochs, flags, counters of send and receive
//   regions   one per wire (peer_wire.cuh), never shared: data of one could be a flag to another.
//             region[parity][phase][source rank]: a slot; parity is that of the call's number
//   send      send[source rank]: a slot
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define VOLTPILE_ON_BOTH __host__ __device__
#else
#define VOLTPILE_ON_BOTH
#endif

namespace voltpile {

constexpr int max_peers = 8;
constexpr int max_peer_blocks = 64;    // per kernel
constexpr int max_peer_threads = 512;  // per block: more would leave too few registers
constexpr int send_blocks = 8;         // of each sending or receiving kernel

// How data travels into a mailbox.
enum class PeerWire : int { LowLatency, Flagged };

// Collectives as the kernels know them. One-shot: every rank sends everything to all and sums. Two-shot:
// every rank sums a share and sends the sums.
enum class PeerAlgorithm : int { OneShot, TwoShot, ReduceScatter, AllGather, AllToAll, Broadcast };

VOLTPILE_ON_BOTH constexpr std::size_t slot_bytes(PeerWire wire) {
    return wire == PeerWire::LowLatency ? 256 << 10 : 1 << 20;
}
// Bytes of user data; the rest are flags.
VOLTPILE_ON_BOTH constexpr std::size_t slot_data_bytes(PeerWire wire) {
    const std::size_t bytes = slot_bytes(wire);
    return wire == PeerWire::LowLatency ? bytes / 2 : bytes;
}
constexpr std::size_t send_slot_bytes = 512 << 10;

struct MailboxHeader {
    std::uint64_t epoch[max_peer_blocks];  // calls so far, for each block; all equal between calls
    // Flagged: epoch + 1 of the last call with complete data, by source and block. Peers write it.
    std::uint64_t flag[2][max_peers][max_peer_blocks];
    // Pieces sent to and received from each peer; and, written by the peer, what has arrived and what was
    // consumed.
    std::uint64_t sent[max_peers][send_blocks];
    std::uint64_t received[max_peers][send_blocks];
    std::uint64_t arrived[max_peers][send_blocks];
    std::uint64_t taken[max_peers][send_blocks];
};
constexpr std::size_t mailbox_header_bytes = 16 << 10;
static_assert(sizeof(MailboxHeader) <= mailbox_header_bytes);

VOLTPILE_ON_BOTH constexpr std::size_t region_offset(PeerWire wire, int size) {
    std::size_t offset = mailbox_header_bytes;
    for (int w = 0; w < static_cast<int>(wire); ++w)
        offset += 4 * static_cast<std::size_t>(size) * slot_bytes(static_cast<PeerWire>(w));
    return offset;
}
VOLTPILE_ON_BOTH constexpr std::size_t send_offset(int size) {
    return region_offset(PeerWire::Flagged, size) +
           4 * static_cast<std::size_t>(size) * slot_bytes(PeerWire::Flagged);
}
VOLTPILE_ON_BOTH constexpr std::size_t mailbox_bytes(int size) {
    return send_offset(size) + static_cast<std::size_t>(size) * send_slot_bytes;
}

// A kernel's view of the group, passed by value.
struct PeerView {
    char* own;                  // this rank's mailbox
    char* peer[max_peers - 1];  // peer[p - 1]: that of rank (rank + p) % size, over the link
    const int* abort;           // host memory; nonzero: stop waiting
    unsigned long long* stall;  // host memory; see stall_report in peer_wait.cuh
    int rank;
    int size;
};

// One call, or one piece of it that fits the slots.
struct PeerMessage {
    const char* in;
    char* out;
    unsigned bytes;      // AllGather, ReduceScatter, AllToAll: of each rank's part
    int root;            // Broadcast
    std::size_t stride;  // the same: from one rank's part to the next
    int type;            // ElementType
    int reduction;       // Reduction
};

}  // namespace voltpile

#undef VOLTPILE_ON_BOTH
