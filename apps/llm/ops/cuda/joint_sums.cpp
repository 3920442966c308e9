#include "llm/ops/cuda/joint_sums.h"

#include <stdexcept>
#include <utility>

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
    kernel_area_.words = kernel_area_.received + area_->view.size * kernel_area_.share * columns *
                                                     static_cast<std::int64_t>(sizeof(std::uint16_t));
    kernel_area_.word_numbers = joint_word_numbers(area_->view.size, rows, columns);
    kernel_area_.sent =
        kernel_area_.words + 4 * kernel_area_.word_numbers * static_cast<std::int64_t>(sizeof(std::uint16_t));
    load_joint_sums(area_->view.size, static_cast<int>(columns));
}

JointWay CudaJointSums::way(std::int64_t rows) const {
    const std::int64_t ranks = area_->view.size, most = kernel_area_.word_numbers;
    if (rows * columns_ <= most_whole_numbers) return JointWay::OneShot;
    return ranks * joint_share(rows, ranks) * columns_ <= most ? JointWay::ByOwner : JointWay::ByOwnerFlagged;
}

SentPart CudaJointSums::send_next(JointPart part) {
    const PeerView& view = area_->view;
    SentPart to;
    to.peers = view.size - 1;
    to.limit = limit_;
    const std::int64_t row = static_cast<std::int64_t>(part) * view.size + view.rank;
    for (int p = 0; p < to.peers; ++p)
        to.to[p] = area_->peer[p] + kernel_area_.sent +
                   row * columns_ * static_cast<std::int64_t>(sizeof(std::uint16_t));
    sent_ = part;
    return to;
}

void CudaJointSums::add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps,
                                 SentinelPlace place) {
    if (x.rows == 0) return;
    if (sent_ && x.rows != 1) throw std::logic_error("a product has sent a row of another sum");
    const JointRows rows{x.data,
                         delta.data,
                         delta.bias,
                         weight,
                         eps,
                         limit_,
                         static_cast<int>(x.rows),
                         static_cast<int>(columns_),
                         sentinel_place(place),
                         sentinel_,
                         sent_.value_or(JointPart::Attention)};
    launch_joint_sums(std::exchange(sent_, std::nullopt) ? JointWay::Sent : way(x.rows), area_->view,
                      kernel_area_, rows, stream_);
}

}  // namespace voltpile::llm
