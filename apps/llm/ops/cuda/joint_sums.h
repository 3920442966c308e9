// JointSums over GPUs that reach each other's memory.
#pragma once

#include <deque>
#include <memory>

#include "comm/collective/peer_area.h"
#include "device/stream_order.h"
#include "llm/ops/cuda/joint_kernels.h"
#include "llm/ops/joint_sums.h"

namespace voltpile::llm {

class CudaJointSums final : public JointSums {
  public:
    // sentinel: a word of GPU memory, see rows.h. All arguments must outlive this object.
    CudaJointSums(std::unique_ptr<PeerArea> area, std::int64_t rows, std::int64_t columns, float limit,
                  std::uint64_t* sentinel, const Stream& stream);

    void* normed() const override { return area_->own; }
    void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps, HiddenRows out,
                      SentinelPlace place) override;
    void ready(FloatRows delta) override;
    bool splits(std::int64_t rows) const override { return way(rows) != JointWay::OneShot; }

  private:
    // A sum that may begin, and the work before it.
    struct Ready {
        const float* delta = nullptr;  // nullptr: none
        StreamOrder before;
    };
    // Of sums that run beside other operations.
    struct Beside {
        Stream stream;
        StreamOrder after;
        std::deque<Ready> ready;
    };

    JointWay way(std::int64_t rows) const;
    // Returns the entry of a delta that is ready, or nullptr.
    Ready* find(const float* delta);

    std::unique_ptr<PeerArea> area_;
    JointArea kernel_area_{};
    std::int64_t columns_;
    float limit_;
    std::uint64_t* sentinel_;
    const Stream& stream_;
    std::unique_ptr<Beside> beside_;  // created at the first ready()
};

}  // namespace voltpile::llm
