// Sums over a tensor-parallel group, joined with what follows them: the addition to the residual stream and
// the norm. One exchange between the devices instead of a collective and another operation.
#pragma once

#include <cstdint>

#include "llm/ops/operands.h"

namespace voltpile::llm {

struct AddedRows;
struct FloatRows;

// Created by Ops::make_joint_sums(). All layers share it, one after the other.
class JointSums {
  public:
    virtual ~JointSums() = default;

    // The output of add_rms_norm(), as HiddenRows of its rows. All ranks write into this memory.
    virtual void* normed() const = 0;

    // As Ops::add_rms_norm() into normed(), with the sum of `delta` over the ranks instead of delta; the bias
    // counts once. Ranks send delta / 16, rounded to fp16 (magnitudes above half_limit() become that), and
    // sum in fp32 in rank order, so a row does not depend on the number of rows. All ranks get the same
    // output, and all trip the sentinel. But if splits(x.rows), rank r updates only these rows of x: r *
    // share to (r + 1) * share - 1, with share = ceil(rows / ranks). Collective, as calls of a
    // StreamCommunicator.
    virtual void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps,
                              SentinelPlace place) = 0;
    virtual bool splits(std::int64_t rows) const = 0;
};

}  // namespace voltpile::llm
