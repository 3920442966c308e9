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
    char* own;                  // the outputs of the call's first row
    char* peer[max_peers - 1];  // the same of the peers
    std::int64_t received;      // where what others send begins, in bytes from there
    std::int64_t share;         // of the most rows
};

// OneShot: every rank sends all rows to all. ByOwner: every rank sends each row to the rank that normalizes
// it, which sends the result to all; the low-latency way sends more bytes (peer_wire.cuh).
enum class JointWay { OneShot, ByOwnerLowLatency, ByOwner };

// Numbers that a rank can send to another in one call by the low-latency wire.
constexpr std::int64_t joint_low_latency_numbers =
    static_cast<std::int64_t>(slot_data_bytes(PeerWire::LowLatency)) / 2;

// The blocks of a sum that runs beside products, and so the most multiprocessors that it takes. Products
// leave as many free (Ops::leave_room_for_sums()), because blocks of wide products wait for each other while
// those of sums wait for other GPUs: each kind must find its own place. 12 of the 132 multiprocessors of an
// H100 leave 120, which the 1, 2, 4 or 8 pieces of up to 2,048 rows divide evenly.
constexpr int joint_blocks_beside = 12;

// Enqueues a sum. Every rank calls with the same way and shape. OneShot: at most joint_low_latency_numbers in
// all rows. ByOwnerLowLatency: at most so many in the share of a rank. beside: with joint_blocks_beside
// blocks at most, which start before waiting blocks of other kernels.
void launch_joint_sums(JointWay way, const PeerView& view, const JointArea& area, const JointRows& rows,
                       bool beside, const Stream& stream);

// Loads the kernels for a group of this size, see load_low_latency().
void load_joint_sums(int ranks, int columns);

}  // namespace voltpile::llm
