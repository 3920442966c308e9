// The interface through which a decoder talks to other ranks: sums and gathers within the tensor-parallel
// group, hidden states to and from neighboring pipeline stages. All calls take effect in the order of the
// Ops' calls, on the same stream.
#pragma once

#include "llm/ops/ops.h"

namespace voltpile::llm {

class DecoderLinks {
  public:
    virtual ~DecoderLinks() = default;

    // Replaces x by its sum over the ranks of the group, bitwise equal on all.
    virtual void all_reduce(FloatRows x) = 0;
    // Returns the output of add_rms_norm(), device memory for all rows, or nullptr if the links do not join
    // sums with norms; then the two calls below must not be made.
    virtual void* joint_output() { return nullptr; }
    // See JointSums::add_rms_norm().
    virtual void add_rms_norm(FloatRows, AddedRows, const float* /*weight*/, float /*eps*/, SentinelPlace) {}
    // Completes the rows of x on all ranks after add_rms_norm(). x has room for a multiple of the ranks.
    virtual void complete(FloatRows) {}
    // Gathers every rank's `part` into `parts` on all ranks, in the order of ranks. `parts` has room for one
    // part of this shape for each rank.
    virtual void all_gather(FloatRows part, FloatRows parts) = 0;
    // Piece r of `in` goes to rank r, and piece r of `out` comes from it. The pieces are equal parts of the
    // rows, one for each rank.
    virtual void all_to_all(HiddenRows in, HiddenRows out) = 0;
    // Hand x and `states` on between the ranks with the same number in neighboring stages. x need not be
    // complete where it is sent, and is where it has been received. It has room for a multiple of the ranks.
    // states: what an EAGLE 3 head reads of earlier layers; without data if there is nothing.
    virtual void send_to_next(FloatRows x, HiddenRows states) = 0;
    virtual void receive_from_previous(FloatRows x, HiddenRows states) = 0;
};

// The links of a single rank with the whole model: they do nothing.
class NoLinks final : public DecoderLinks {
  public:
    void all_reduce(FloatRows) override {}
    void all_gather(FloatRows, FloatRows) override {}
    void all_to_all(HiddenRows, HiddenRows) override {}
    void send_to_next(FloatRows, HiddenRows) override {}
    void receive_from_previous(FloatRows, HiddenRows) override {}
};

}  // namespace voltpile::llm
