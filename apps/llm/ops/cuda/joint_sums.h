// JointSums over GPUs that reach each other's memory.
#pragma once

#include <memory>
#include <optional>

#include "comm/collective/peer_area.h"
#include "llm/ops/cuda/joint_kernels.h"
#include "llm/ops/cuda/sent_part.h"
#include "llm/ops/joint_sums.h"

namespace voltpile::llm {

class CudaJointSums final : public JointSums {
  public:
    // sentinel: a word of GPU memory, see rows.h. All arguments must outlive this object.
    CudaJointSums(std::unique_ptr<PeerArea> area, std::int64_t rows, std::int64_t columns, float limit,
                  std::uint64_t* sentinel, const Stream& stream);

    void* normed() const override { return area_->own; }
    void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps,
                      SentinelPlace place) override;
    bool splits(std::int64_t rows) const override { return way(rows) != JointWay::OneShot; }

    // Where the product whose result is this rank's part of the next sum, one row, sends it.
    SentPart send_next(JointPart part);

  private:
    JointWay way(std::int64_t rows) const;

    std::unique_ptr<PeerArea> area_;
    JointArea kernel_area_{};
    std::optional<JointPart> sent_;  // the part of the next sum
    std::int64_t columns_;
    float limit_;
    std::uint64_t* sentinel_;
    const Stream& stream_;
};

}  // namespace voltpile::llm
