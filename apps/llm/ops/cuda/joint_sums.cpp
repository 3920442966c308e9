#include "llm/ops/cuda/joint_sums.h"

#include "llm/ops/cuda/rows.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

CudaJointSums::CudaJointSums(std::unique_ptr<PeerArea> area, std::int64_t rows, std::int64_t columns,
                             float limit, std::uint64_t* sentinel, const Stream& stream)
    : area_(std::move(area)), columns_(columns), limit_(limit), sentinel_(sentinel), stream_(stream) {
    kernel_area_.own = area_->own;
    for (int p = 1; p < area_->view.size; ++p) kernel_area_.peer[p - 1] = area_->peer[p - 1];
    kernel_area_.received = rows * columns * static_cast<std::int64_t>(sizeof(std::uint16_t));
    kernel_area_.share = joint_share(rows, area_->view.size);
    load_joint_sums(area_->view.size, static_cast<int>(columns));
}

JointWay CudaJointSums::way(std::int64_t rows) const {
    if (rows * columns_ <= joint_low_latency_numbers) return JointWay::OneShot;
    return joint_share(rows, area_->view.size) * columns_ <= joint_low_latency_numbers
               ? JointWay::ByOwnerLowLatency
               : JointWay::ByOwner;
}

void CudaJointSums::add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps,
                                 SentinelPlace place) {
    if (x.rows == 0) return;
    const JointRows rows{x.data,
                         delta.data,
                         delta.bias,
                         weight,
                         eps,
                         limit_,
                         static_cast<int>(x.rows),
                         static_cast<int>(columns_),
                         sentinel_place(place),
                         sentinel_};
    launch_joint_sums(way(x.rows), area_->view, kernel_area_, rows, stream_);
}

}  // namespace voltpile::llm
