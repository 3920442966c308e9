// Sums over a tensor-parallel group, joined with what follows them: the addition to the residual stream and
// the norm. One exchange between the devices instead of a collective and another operation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/ops/operands.h"

namespace voltpile::llm {

struct AddedRows;
struct FloatRows;
struct HiddenRows;

// The most columns of a row; they are a multiple of 8.
constexpr std::int64_t most_joint_columns = 16384;
constexpr bool joint_sums_fit(std::int64_t columns) {
    return columns % 8 == 0 && columns <= most_joint_columns;
}

// Returns how many of the rows a rank owns, if they are split. The last ranks may have fewer.
constexpr std::int64_t joint_share(std::int64_t rows, std::int64_t ranks) {
    return (rows + ranks - 1) / ranks;
}

// Returns the bytes of memory that each rank shares with the others, for passes of at most these rows: the
// outputs, and what the others send, both fp16.
constexpr std::size_t joint_area_bytes(std::int64_t ranks, std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>((rows + ranks * joint_share(rows, ranks)) * columns * 2);
}

// Created by Ops::make_joint_sums(). All layers share it, one after the other.
class JointSums {
  public:
    virtual ~JointSums() = default;

    // Memory for the outputs of add_rms_norm(), for all rows of a pass. All ranks write into it.
    virtual void* normed() const = 0;

    // As Ops::add_rms_norm(), with the sum of `delta` over the ranks instead of delta; the bias counts once.
    // out: rows of normed(), the same ones on all ranks. Ranks send delta / 16, rounded to fp16 (magnitudes
    // above half_limit() become that), and sum in fp32 in rank order, so a row does not depend on the number
    // of rows. All ranks get the same output, and all trip the sentinel. But if splits(x.rows), rank r
    // updates only these rows of x: r * share to (r + 1) * share - 1, with joint_share(). Collective, as
    // calls of a StreamCommunicator.
    virtual void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps, HiddenRows out,
                              SentinelPlace place) = 0;

    // Lets the next add_rms_norm() of this delta run beside the operations that are enqueued between the two
    // calls: it waits only for what has been enqueued before this one. Until then these operations must not
    // use the rows of its x, delta and out. What is enqueued after add_rms_norm() waits for it as ever. Calls
    // may be made for several deltas in turn; the sums run in the order of their add_rms_norm(). The
    // operations in between are enqueued while Ops::leave_room_for_sums() is on. Not within a recording.
    virtual void ready(FloatRows delta) = 0;
    virtual bool splits(std::int64_t rows) const = 0;
};

}  // namespace voltpile::llm
