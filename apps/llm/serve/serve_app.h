// The serve app: jobs that do what `voltpile serve` does.
#pragma once

#include <memory>
#include <optional>

#include "job/job_spec.h"
#include "llm/serve/model_server.h"
#include "run/service.h"

namespace voltpile {

class ServeApp : public Service {
  public:
    explicit ServeApp(const JobSpec& job) : job_(job) {}

    void prepare(const Communicator* world) override;
    Workload workload() const override;
    Plan plan(const PlanOptions& options, const Topology& topology) override;
    void keep_to(const GpuDuty& duty) override { planned_.value().duty = &duty; }
    double stop_seconds() const override;
    std::filesystem::path address_file() const override;
    ServedWork serve(const MpiSession& mpi, StopSignals& signals, NodeWatch* watch) override;

  private:
    JobSpec job_;
    std::unique_ptr<llm::ModelServer> server_;
    std::optional<llm::ReplicaPlan> planned_;  // set by plan() for serve()
};

std::unique_ptr<Service> make_serve(const JobSpec& job);

}  // namespace voltpile
