// What a decoder exchanges with other ranks: sums and pieces within the tensor-parallel team, the hidden
// state with the stages before and after it. Everything happens in the order of the Ops' calls (on its
// stream).
#pragma once

#include "llm/ops/ops.h"

namespace voltpile::llm {

class DecoderLinks {
  public:
    virtual ~DecoderLinks() = default;

    // x becomes the sum over the team's ranks, the same to the bit on all.
    virtual void all_reduce(FloatRows x) = 0;
    // Every rank's `part` into `parts` on all, in the order of ranks. parts: as many rows and columns a rank
    // as part has.
    virtual void all_gather(FloatRows part, FloatRows parts) = 0;
    // Between the ranks of the same number in neighboring stages.
    virtual void send_to_next(FloatRows x) = 0;
    virtual void receive_from_previous(FloatRows x) = 0;
};

// One rank with the whole model.
class NoLinks final : public DecoderLinks {
  public:
    void all_reduce(FloatRows) override {}
    void all_gather(FloatRows, FloatRows) override {}
    void send_to_next(FloatRows) override {}
    void receive_from_previous(FloatRows) override {}
};

}  // namespace voltpile::llm
