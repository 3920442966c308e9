// What an EAGLE 3 head reads of its model (eagle_head.h): the inputs of a few layers, side by side, times the
// matrix fc of the head. Each pipeline stage takes those of its layers; the last one has the matrix.
#pragma once

#include <memory>
#include <vector>

#include "llm/ops/ops.h"

namespace voltpile::llm {

class StateFusion {
  public:
    // layers: of the model, in the order of the columns of fc. rows: of the largest pass. hidden: size of a
    // state, and of what fc makes of all of them.
    StateFusion(Ops& ops, std::vector<int> layers, std::int64_t rows, std::int64_t hidden);

    // Uses this matrix, (hidden, layers * hidden), which must outlive the passes. Before, fuse() must not be
    // called.
    void set_matrix(const WeightMatrix& fc) { fc_ = &fc; }

    bool reads(int layer) const;
    // Enqueues a copy of the input of a layer that reads() is true for.
    void take(int layer, HiddenRows state);
    // Returns the states to hand on to the stage that begins at layer `end`, (rows, layers * hidden). Those
    // of later layers are undefined. If no layer before `end` is read, data is nullptr.
    HiddenRows taken_before(int end, std::int64_t rows) const;
    // Enqueues the product, for passes that have taken all layers. Returns (rows, hidden), valid until the
    // next call.
    HiddenRows fuse(std::int64_t rows);

  private:
    HiddenRows states(std::int64_t rows) const {
        return {states_->data(), rows, static_cast<std::int64_t>(layers_.size()) * hidden_};
    }

    Ops& ops_;
    std::vector<int> layers_;
    std::int64_t hidden_;
    std::unique_ptr<OpsMemory> states_, fused_;  // (rows, layers * hidden), (rows, hidden)
    const WeightMatrix* fc_ = nullptr;           // of the head
};

}  // namespace voltpile::llm
