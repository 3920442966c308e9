#include "llm/ops/timed_ops.h"

namespace voltpile::llm {
namespace {

class TimedHostExperts final : public HostExperts {
  public:
    TimedHostExperts(std::unique_ptr<HostExperts> experts, const TimedOps& ops)
        : experts_(std::move(experts)), ops_(ops) {}
    Ops& cores() override { return experts_->cores(); }
    void prepare(const ExpertLayer& layer) override { experts_->prepare(layer); }
    void sum(HiddenRows x, const ExpertLayer& layer, const BatchView& batch, const Routing& routing,
             HiddenRows gated, FloatRows out, const std::function<void()>& meanwhile) override {
        experts_->sum(x, layer, batch, routing, gated, out, meanwhile);
        ops_.mark("experts in host memory");
    }
    void check() const override { experts_->check(); }

  private:
    std::unique_ptr<HostExperts> experts_;
    const TimedOps& ops_;
};

}  // namespace

std::unique_ptr<HostExperts> TimedOps::make_host_experts(const HostExpertShape& shape) {
    return std::make_unique<TimedHostExperts>(ops_.make_host_experts(shape), *this);
}

}  // namespace voltpile::llm
