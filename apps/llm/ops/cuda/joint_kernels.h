// Kernels that sum rows over the GPUs of a group, add them to the residual stream and normalize it.
#pragma once

#include <cstdint>

#include "comm/collective/peer_layout.h"
#include "device/stream.h"

namespace voltpile::llm {

// What a kernel needs beside the memory of the group. x, delta: (rows, columns). bias and weight may be
// nullptr.
struct JointRows {
    float* x;
    const float* delta;
    const float* bias;
    const float* weight;
    float eps;
    float limit;  // half_limit()
    int rows;
    int columns;
    std::uint64_t place;  // sentinel_place()
    std::uint64_t* sentinel;
};

// The kernels' view of a PeerArea: first the outputs, (most rows, columns), then the sums that others send,
// (ranks, share of the most rows, columns), all fp16.
struct JointArea {
    char* own;
    char* peer[max_peers - 1];
    std::int64_t received;  // where these begin, in bytes
    std::int64_t share;     // of the most rows
};

// OneShot: every rank sends all rows to all. ByOwner: every rank sends each row to the rank that normalizes
// it, which sends the result to all; the low-latency way sends more bytes (peer_wire.cuh).
enum class JointWay { OneShot, ByOwnerLowLatency, ByOwner };

// Numbers that a rank can send to another in one call by the low-latency wire.
constexpr std::int64_t joint_low_latency_numbers =
    static_cast<std::int64_t>(slot_data_bytes(PeerWire::LowLatency)) / 2;

// Enqueues a sum. Every rank calls with the same way and shape. OneShot: at most joint_low_latency_numbers in
// all rows. ByOwnerLowLatency: at most so many in the share of a rank.
void launch_joint_sums(JointWay way, const PeerView& view, const JointArea& area, const JointRows& rows,
                       const Stream& stream);

// Loads the kernels for a group of this size, see load_low_latency().
void load_joint_sums(int ranks, int columns);

}  // namespace voltpile::llm
