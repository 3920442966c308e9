// Experts in host memory beside a GPU. A second stream hands rows and routing over to pinned host memory,
// calls the cores (cudaLaunchHostFunc) and is joined again, all of which CUDA graphs capture. For passes with
// many rows, the weights come to the GPU instead (streamed_experts.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/buffer.h"
#include "device/stream.h"
#include "device/stream_order.h"
#include "llm/ops/cpu/core_experts.h"
#include "llm/ops/cuda/expert_product.h"
#include "llm/ops/cuda/streamed_experts.h"
#include "llm/ops/host_experts.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

class CudaHostExperts final : public HostExperts {
  public:
    // cores: the logical processor of each thread (CpuOps); the driver's thread that calls the cores is the
    // first. stream: of the other operations; product: of the same stream; both must outlive this object.
    // streamed: for shape.streamed_rows; nullptr: cores compute all passes.
    CudaHostExperts(const HostExpertShape& shape, const std::vector<int>& cores, CudaExpertProduct& product,
                    std::unique_ptr<StreamedExperts> streamed, const Stream& stream);
    ~CudaHostExperts() override;

    Ops& cores() override { return experts_.ops(); }
    void prepare(const ExpertLayer& layer) override;
    void sum(HiddenRows x, const ExpertLayer& layer, const BatchView& batch, const Routing& routing,
             HiddenRows gated, FloatRows out, const std::function<void()>& meanwhile) override;
    void check() const override;

  private:
    // What the cores compute in one call.
    struct Call {
        CudaHostExperts* owner;
        ExpertLayer layer;
        std::int64_t rows;
        bool adapted;  // rows have adapters
        bool again;    // a graph calls it again
    };
    bool streams(const ExpertLayer& layer, const BatchView& batch, std::int64_t rows) const;
    void enqueue_call(const ExpertLayer& layer, std::int64_t rows, bool adapted);
    static void run(void* call) noexcept;  // on a thread of the driver
    void compute(const Call& call) noexcept;

    HostExpertShape shape_;
    const Stream& stream_;
    CudaExpertProduct& product_;
    std::unique_ptr<StreamedExperts> streamed_;  // null: never
    int first_core_;
    CoreExperts experts_;
    PinnedBuffer<std::uint16_t> x_;       // fp16 (rows, columns)
    PinnedBuffer<std::int32_t> expert_;   // (rows, used)
    PinnedBuffer<float> weight_;          // (rows, used)
    PinnedBuffer<std::int32_t> adapter_;  // (rows)
    PinnedBuffer<float> sum_;             // (rows, columns)
    Stream beside_;
    StreamOrder fork_, join_;
    std::vector<std::unique_ptr<Call>>
        of_graphs_;        // as long as this object, since graphs do not tell their end
    std::string failure_;  // written before failed_
    std::atomic<bool> failed_{false};
};

}  // namespace voltpile::llm
