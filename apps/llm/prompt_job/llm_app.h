// The llm app: a language model continues or answers prompts from files. The points of such a job are its
// prompts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/job_spec.h"
#include "llm/engine/engine.h"
#include "llm/prompt_job/prompt_files.h"
#include "llm/replica/replica.h"
#include "llm/session/language_model.h"
#include "run/app.h"

namespace voltpile {

class LlmApp : public App {
  public:
    explicit LlmApp(const JobSpec& job) : job_(job) {}

    // Opens the model on every rank. Rank 0 reads the prompts and sends them to the others.
    void prepare(const Communicator* world) override;
    std::vector<FieldSpec> fields() const override;
    Workload workload() const override;
    ResultLayout layout(const JobSpec& job) const override;
    Plan plan(const PlanOptions& options, const Topology& topology) override;
    std::vector<std::string> warnings() const override;
    void keep_to(const GpuDuty& duty) override { planned_.value().duty = &duty; }
    void connect(const MpiSession& mpi) override;
    void disconnect() override { replica_.reset(); }
    void run(RankContext& rank, WorkScheduler& work, ResultWriter& results) override;

  private:
    int context() const;
    int top_n() const;
    llm::JobPrompts checked_prompts();
    void lead(llm::Engine& engine, WorkScheduler& work, ResultWriter& results);

    JobSpec job_;
    std::unique_ptr<llm::LanguageModel> model_;
    llm::ReplicaRequest request_;  // without the context
    std::unique_ptr<llm::LanguageModel> draft_;
    llm::JobPrompts prompts_;
    std::optional<llm::ReplicaPlan> planned_;  // set by plan() for connect()
    std::unique_ptr<llm::Replica> replica_;
};

std::unique_ptr<App> make_llm(const JobSpec& job);

}  // namespace voltpile
