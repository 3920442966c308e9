#include "llm/prompt_job/llm_app.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/standard_streams.h"
#include "device/device.h"
#include "llm/prompt_job/prompt_feed.h"
#include "llm/prompt_job/prompt_tokens.h"
#include "llm/replica/draft_link.h"
#include "llm/replica/same_model.h"
#include "llm/session/draft_model.h"
#include "llm/session/job_model.h"
#include "llm/session/session.h"
#include "results/result_writer.h"
#include "run/agreement.h"
#include "run/rank_context.h"

namespace voltpile {
namespace {

double mean_max_tokens(const std::vector<llm::Prompt>& prompts) {
    double sum = 0;
    for (const llm::Prompt& prompt : prompts) sum += prompt.settings.max_tokens;
    return sum / static_cast<double>(prompts.size());
}

}  // namespace

void LlmApp::prepare(const Communicator* world) {
    const llm::ModelChoice choice = llm::model_of_job(job_, world);
    model_ = world ? llm::LanguageModel::open(*world, choice) : std::make_unique<llm::LanguageModel>(choice);
    request_ = llm::replica_request_of(job_);
    if (const std::string draft = llm::draft_of_job(job_, world); !draft.empty())
        draft_ = llm::open_draft(world, {.path = draft}, *model_, request_);
    llm::open_prediction_layers(world, *model_, request_);
    if (!world) {
        prompts_ = checked_prompts();
        return;
    }
    if (draft_) llm::check_same_model(*world, draft_->source());
    llm::check_same_model(*world, model_->source());  // the job's fingerprint has that of the model
    const std::string others = decide_on_root(*world, [&] {
        prompts_ = checked_prompts();
        return world->size() > 1 ? prompts_.to_bytes() : std::string();
    });
    if (world->rank() > 0) prompts_ = llm::JobPrompts::from_bytes(others);
}

// With their tokens, so that nothing is found to be wrong only later.
llm::JobPrompts LlmApp::checked_prompts() {
    if (const std::int64_t cache = job_.integer("engine.cache_tokens"); cache > 0 && cache < context())
        throw JobError(
            fmt::format("{}: engine.cache_tokens = {} is too small for one sequence of {} tokens "
                        "(engine.context)",
                        job_.path(), cache, context()));
    llm::JobPrompts all = llm::read_prompts(job_);
    llm::add_tokens(all, *model_, context());
    if (job_.text("prompts.on_error") == "stop") llm::refuse_unusable(all.prompts);
    return all;
}

int LlmApp::context() const {
    const auto asked = static_cast<int>(job_.integer("engine.context"));
    return asked > 0 ? asked : static_cast<int>(model_->config().context);
}

int LlmApp::top_n() const {
    return static_cast<int>(job_.integer("generate.top_n"));
}

std::vector<FieldSpec> LlmApp::fields() const {
    return llm::prompt_fields(top_n(), mean_max_tokens(prompts_.prompts), prompts_.mean_prompt_tokens);
}

Workload LlmApp::workload() const {
    Workload work;
    work.unit = "tokens";
    work.units_per_point = prompts_.mean_prompt_tokens + mean_max_tokens(prompts_.prompts);
    work.flop_per_unit = llm::products_per_token(model_->source());
    work.fp64 = false;
    work.points = std::ssize(prompts_.prompts);
    for (const FieldSpec& field : fields())
        work.bytes_per_point += static_cast<std::int64_t>(field.bytes_per_point());
    // A batch is never of one range alone, so that it stays full over their ends.
    work.most_range_points = std::max<std::int64_t>(1, job_.integer("engine.sequences") / 4);
    return work;
}

ResultLayout LlmApp::layout(const JobSpec& job) const {
    SweepAxis axis;
    axis.name = "prompt";
    axis.parameter = "number of the prompt";
    axis.unit = "1";
    axis.count = std::ssize(prompts_.prompts);
    axis.to = static_cast<double>(axis.count);
    const std::string model = llm::model_text(job_);
    std::vector<JobInput> inputs{{model, model_->source().fingerprint_with_adapters()}};
    inputs.insert(inputs.end(), prompts_.inputs.begin(), prompts_.inputs.end());
    ResultLayout layout = make_layout(job, fields(), {axis}, inputs);
    layout.notes = {{"model", model}, {"modelFingerprint", inputs.front().fingerprint}};
    if (const std::int64_t skipped = llm::unusable_count(prompts_.prompts); skipped > 0)
        layout.notes.emplace_back("skippedPrompts", std::to_string(skipped));
    return layout;
}

Plan LlmApp::plan(const PlanOptions& options, const Topology& topology) {
    llm::ReplicaRequest request = request_;
    request.context = context();
    request.prompt_tokens = prompts_.mean_prompt_tokens;
    planned_ = llm::plan_job_replica(job_, model_->source(), request, options, topology, workload());
    return planned_->plan;
}

std::vector<std::string> LlmApp::warnings() const {
    const std::string skipped = llm::skipped_text(prompts_.prompts);
    return skipped.empty() ? std::vector<std::string>{} : std::vector{skipped};
}

void LlmApp::connect(const MpiSession& mpi) {
    replica_ = std::make_unique<llm::Replica>(mpi, model_->source(), std::move(planned_.value()));
    replica_->hand_over();  // run() has a thread of its own
}

void LlmApp::run(RankContext& rank, WorkScheduler& work, ResultWriter& results) {
    if (rank.mine().device >= 0) use_device(rank.mine().device);  // each thread has one
    if (replica_->helps()) {
        llm::run_draft(*replica_);
    } else {
        const llm::Session session(*model_, *replica_);
        session.answer({.many = true}, [&](llm::Engine& engine) { lead(engine, work, results); });
        llm::end_draft(*replica_);
    }
    replica_->hand_over();  // back to the main thread, which frees them
}

void LlmApp::lead(llm::Engine& engine, WorkScheduler& work, ResultWriter& results) {
    llm::PromptRows rows(prompts_.prompts, top_n(), [&](WorkRange range, std::vector<FieldBuffer> data) {
        results.submit(range, std::move(data));
    });
    const llm::FeedSettings feed{replica_->request().sequences, replica_->plan().pages,
                                 job_.real("run.range_seconds")};
    llm::feed_prompts(prompts_.prompts, engine, rows, work, feed);
    if (replica_->request().speculate != llm::Speculate::Off)
        print_error(fmt::format("rank {}: {}", replica_->world_rank(), llm::guesses_text(engine.counters())));
}

std::unique_ptr<App> make_llm(const JobSpec& job) {
    return std::make_unique<LlmApp>(job);
}

}  // namespace voltpile
