#include "llm/ops/cuda/host_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/bind_thread.h"
#include "base/error.h"
#include "device/capture.h"
#include "device/check.h"
#include "llm/ops/cuda/hand_over.h"

namespace voltpile::llm {
namespace {

std::size_t count(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * columns);
}

}  // namespace

CudaHostExperts::CudaHostExperts(const HostExpertShape& shape, const std::vector<int>& cores,
                                 CudaExpertProduct& product, std::unique_ptr<StreamedExperts> streamed,
                                 const Stream& stream)
    : shape_(shape),
      stream_(stream),
      product_(product),
      streamed_(std::move(streamed)),
      first_core_(cores.front()),
      experts_(cores),
      x_(count(shape.rows, shape.columns)),
      expert_(count(shape.rows, shape.used)),
      weight_(count(shape.rows, shape.used)),
      adapter_(count(shape.rows, 1)),
      sum_(count(shape.rows, shape.columns)) {
    if (shape.columns % 2 != 0) throw DeviceError("experts in host memory need an even hidden size");
}

CudaHostExperts::~CudaHostExperts() {
    try {
        // The driver's thread uses this object, in graphs on behalf of the other stream.
        stream_.synchronize();
        beside_.synchronize();
    } catch (const Error&) {
        // The GPU has failed, so that it calls nothing more.
    }
}

void CudaHostExperts::prepare(const ExpertLayer& layer) {
    experts_.prepare(shape_, layer);
    if (streamed_ && StreamedExperts::takes(layer)) streamed_->prepare(layer);
}

void CudaHostExperts::sum(HiddenRows x, const ExpertLayer& layer, const BatchView& batch,
                          const Routing& routing, HiddenRows gated, FloatRows out,
                          const std::function<void()>& meanwhile) {
    if (x.rows > shape_.rows || x.columns != shape_.columns || routing.used != shape_.used)
        throw std::logic_error("a pass exceeds the shape of the experts in host memory");
    if (streams(layer, batch, x.rows)) {
        if (meanwhile) meanwhile();
        streamed_->load(layer);
        product_.run_gated(x, streamed_->gate(), streamed_->up(), layer.activation, routing, nullptr, gated);
        product_.sum(gated, streamed_->down(), routing, out);
        return;
    }
    if (x.rows > 0) {
        fork_.put(stream_, beside_);
        const bool adapted = layer.adapted_in(batch);
        launch_hand_over(x.data, x.rows, x.columns, routing, adapted ? batch.adapter : nullptr,
                         {x_.data(), expert_.data(), weight_.data(), adapter_.data()}, beside_);
        enqueue_call(layer, x.rows, adapted);
    }
    if (meanwhile) meanwhile();
    if (x.rows == 0) return;
    join_.put(beside_, stream_);
    launch_take_sum(sum_.data(), routing.shared, out.rows, out.columns, out.data, stream_);
}

bool CudaHostExperts::streams(const ExpertLayer& layer, const BatchView& batch, std::int64_t rows) const {
    return streamed_ && rows >= shape_.streamed_rows && !batch.replayed && !layer.adapted_in(batch) &&
           !captures(stream_) && StreamedExperts::takes(layer);
}

void CudaHostExperts::enqueue_call(const ExpertLayer& layer, std::int64_t rows, bool adapted) {
    auto call = std::make_unique<Call>(Call{this, layer, rows, adapted, captures(beside_)});
    cuda_check(cudaLaunchHostFunc(beside_.get(), run, call.get()), "enqueueing experts in host memory");
    if (call->again)
        of_graphs_.push_back(std::move(call));
    else
        static_cast<void>(call.release());  // run() deletes it
}

void CudaHostExperts::run(void* data) noexcept {
    auto* const call = static_cast<Call*>(data);
    call->owner->compute(*call);
    if (!call->again) delete call;
}

void CudaHostExperts::compute(const Call& call) noexcept {
    thread_local int bound_to = -1;
    if (bound_to != first_core_) bind_this_thread(bound_to = first_core_);
    if (!failed_.load(std::memory_order_acquire)) {
        try {
            experts_.sum({x_.data(), expert_.data(), weight_.data(), call.adapted ? adapter_.data() : nullptr,
                          call.rows, shape_.columns, shape_.used},
                         call.layer, sum_.data());
            return;
        } catch (const std::exception& error) {
            try {
                failure_ = error.what();
            } catch (const std::bad_alloc&) {
                // check() then says so.
            }
        }
        failed_.store(true, std::memory_order_release);
    }
    std::fill_n(sum_.data(), count(call.rows, shape_.columns), std::numeric_limits<float>::quiet_NaN());
}

void CudaHostExperts::check() const {
    if (failed_.load(std::memory_order_acquire))
        throw DeviceError(fmt::format("cannot compute experts in host memory: {}",
                                      failure_.empty() ? "out of memory" : failure_));
}

}  // namespace voltpile::llm
