// What the apps of sweeps have in common: each point is computed by itself, on a rank's GPU or its cores.
#pragma once

#include <memory>
#include <vector>

#include "run/app.h"
#include "sweep/gpu_program.h"
#include "sweep/outcome_field.h"
#include "sweep/point_stream.h"

namespace voltpile {

class GpuSweep;

class SweepApp : public App {
  public:
    std::vector<FieldSpec> fields() const override;

    // Without a GPU program: on cores only.
    Plan plan(const PlanOptions& options, const Topology& topology) override;

    // Prepares this rank's GPU, if the plan gives it one, before the first range.
    void keep_to(const GpuDuty& duty) override { duty_ = &duty; }
    void connect(const MpiSession& mpi) override;
    void disconnect() override;

    // Computes on this rank's GPU if the plan gives it one, else on its cores.
    void run(RankContext& rank, WorkScheduler& work, ResultWriter& results) override;

  protected:
    enum class Processors { Cores, GpusAndCores };

    explicit SweepApp(Processors processors) : processors_(processors) {}

    // In the order of the result. The app calls it in its constructor.
    void set_outcome_fields(std::vector<OutcomeField> fields) { fields_ = std::move(fields); }
    const std::vector<OutcomeField>& outcome_fields() const { return fields_; }

    // Computes points from the stream until it has none left, on the calling thread, one of several.
    virtual void sweep_points(PointStream& stream) const = 0;

    // Returns what computes points on the current GPU. Called only with Processors::GpusAndCores, in a build
    // with CUDA. Throws DeviceError.
    virtual std::unique_ptr<GpuProgram> gpu_program() const { return nullptr; }

  private:
    Processors processors_;
    std::vector<OutcomeField> fields_;
    std::vector<RankPlan> ranks_;          // of the last plan
    const GpuDuty* duty_ = nullptr;        // nullptr: GPUs work all the time
    std::shared_ptr<GpuSweep> gpu_sweep_;  // from connect() to disconnect(); null without a GPU
};

}  // namespace voltpile
