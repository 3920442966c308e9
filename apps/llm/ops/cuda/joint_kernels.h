// Kernels that sum rows over the GPUs of a group, add them to the residual stream and normalize it.
#pragma once

#include <cstdint>

#include "comm/collective/peer_layout.h"
#include "device/stream.h"
#include "llm/ops/joint_sums.h"

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
    JointPart part;  // JointWay::Sent
};

// The kernels' view of a PeerArea: first the outputs, (most rows, columns), then the sums that others send,
// (ranks, share of the most rows, columns), then words of joint_wire.cuh, (2 sets, 2 phases, word_numbers),
// and those of rows that products send, (2 parts, ranks, columns), all fp16.
struct JointArea {
    char* own;
    char* peer[max_peers - 1];
    std::int64_t received;  // where these begin, in bytes
    std::int64_t share;     // of the most rows
    std::int64_t words;     // where these begin, in bytes
    std::int64_t word_numbers;
    std::int64_t sent;  // where the rows that products send begin, in bytes
};

// Sent: the products whose results are the parts of one row have sent them (SentPart); epochs do not count
// it. OneShot: every rank sends all rows to all. ByOwner: every rank sends each row to the rank that
// normalizes it, which sends the result to all. All as words. ByOwnerFlagged: with fences and flags, for many
// rows.
enum class JointWay { Sent, OneShot, ByOwner, ByOwnerFlagged };

// Enqueues a sum. Every rank calls with the same way and shape. What a rank receives by words in a phase is
// at most word_numbers: ranks * rows * columns, or by owner ranks * joint_share() * columns.
void launch_joint_sums(JointWay way, const PeerView& view, const JointArea& area, const JointRows& rows,
                       const Stream& stream);

// Loads the kernels for a group of this size, see load_low_latency().
void load_joint_sums(int ranks, int columns);

}  // namespace voltpile::llm
