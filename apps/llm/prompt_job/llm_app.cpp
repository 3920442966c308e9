#include "llm/prompt_job/llm_app.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/format.h"
#include "base/shipped_files.h"
#include "device/device.h"
#include "llm/model/model_memory.h"
#include "llm/model/synthetic_shapes.h"
#include "llm/prompt_job/prompt_feed.h"
#include "llm/prompt_job/prompt_tokens.h"
#include "llm/replica/same_model.h"
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

// Returns the multiplications of a weight with an activation for one token.
double products_per_token(const llm::ModelSource& model) {
    double sum = 0;
    for (const llm::ModelTensor& tensor : model.tensors())
        sum += static_cast<double>(tensor.rows) * static_cast<double>(tensor.columns);
    if (!model.config().tied_embeddings)
        sum -= static_cast<double>(model.config().vocab) * static_cast<double>(model.config().hidden);
    return sum;
}

// Throws FileError if the job's model does not exist: says where it looked and how to do without.
void check_model_exists(const JobSpec& job) {
    const std::filesystem::path path = job.text("model.path");
    std::error_code error;
    if (std::filesystem::exists(find_shipped(path, ""), error)) return;
    const std::string looked =
        path.is_absolute() ? "" : fmt::format(" in {}", std::filesystem::current_path(error).string());
    throw FileError(
        fmt::format(
            "{}: model.path = \"{}\" does not exist{}; give the model's place with --set model.path=..., or "
            "use random weights of a model's shape with --set model.synthetic=... ({})",
            job.path(), path.string(), looked, fmt::join(llm::synthetic_shape_names(), ", ")),
        ExitCode::BadInput);
}

// What the fullest rank of each stage holds: one line a stage. The sum is its memory in the plan's table.
std::vector<std::string> memory_notes(const llm::ReplicaPlan& plan) {
    const auto tokens = static_cast<std::int64_t>(plan.pages) * llm::kv_page_tokens;
    std::vector<std::string> notes;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        const llm::StageNeeds& stage = plan.stages[s];
        const auto bytes = [](auto count) { return bytes_text(static_cast<double>(count)); };
        notes.push_back(fmt::format(
            "{}layers {} to {}: {} of weights a rank, {} for the keys and values of {} tokens, {} "
            "for activations and connections",
            plan.stages.size() > 1 ? fmt::format("stage {}, ", s) : "", stage.layer_begin,
            stage.layer_end - 1, bytes(stage.weights),
            bytes(stage.kv_per_token * static_cast<std::uint64_t>(tokens)), count_text(tokens),
            bytes(plan.takes[s] - plan.kept_bytes(stage))));
    }
    return notes;
}

std::string replaced(std::string text, const std::string& old, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += by.size())
        text.replace(at, old.size(), by);
    return text;
}

}  // namespace

void LlmApp::prepare(const Communicator* world) {
    llm::ModelChoice choice{.shape = job_.text("model.synthetic"), .quant = job_.text("model.format")};
    if (choice.shape.empty()) {
        choice.path = find_shipped(job_.text("model.path"), "");
        if (world)
            llm::all_do(*world, [&] { check_model_exists(job_); });
        else
            check_model_exists(job_);
    }
    model_ = world ? llm::LanguageModel::open(*world, choice) : std::make_unique<llm::LanguageModel>(choice);
    if (!world) {
        prompts_ = checked_prompts();
        return;
    }
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

llm::ReplicaRequest LlmApp::replica_request(DeviceChoice device, int ranks_per_node) const {
    const auto integer = [&](const char* key) { return static_cast<int>(job_.integer(key)); };
    llm::ReplicaRequest request;
    request.tensor = integer("engine.tensor");
    request.pipeline = integer("engine.pipeline");
    request.replicas = integer("engine.replicas");
    request.device = device;
    request.ranks_per_node = ranks_per_node;
    request.context = context();
    request.sequences = integer("engine.sequences");
    request.cache_tokens = job_.integer("engine.cache_tokens");
    request.shrinks = request.cache_tokens == 0;
    request.rows = std::max(integer("engine.rows"), request.sequences);
    request.logits = request.sequences;
    if (job_.text("engine.cache") == "int8") request.cache = llm::KvElement::I8;
    request.batch_invariant = job_.boolean("engine.batch_invariant");
    request.clamp = job_.boolean("engine.clamp");
    return request;
}

std::vector<FieldSpec> LlmApp::fields() const {
    return llm::prompt_fields(top_n(), mean_max_tokens(prompts_.prompts), prompts_.mean_prompt_tokens);
}

Workload LlmApp::workload() const {
    Workload work;
    work.unit = "tokens";
    work.units_per_point = prompts_.mean_prompt_tokens + mean_max_tokens(prompts_.prompts);
    work.flop_per_unit = products_per_token(model_->source());
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
    const std::string& shape = job_.text("model.synthetic");
    const std::string model = shape.empty()
                                  ? job_.text("model.path")
                                  : fmt::format("synthetic {} {}", shape, job_.text("model.format"));
    std::vector<JobInput> inputs{{model, model_->source().fingerprint()}};
    inputs.insert(inputs.end(), prompts_.inputs.begin(), prompts_.inputs.end());
    ResultLayout layout = make_layout(job, fields(), {axis}, inputs);
    layout.notes = {{"model", model}, {"modelFingerprint", inputs.front().fingerprint}};
    if (const std::int64_t skipped = llm::unusable_count(prompts_.prompts); skipped > 0)
        layout.notes.emplace_back("skippedPrompts", std::to_string(skipped));
    return layout;
}

Plan LlmApp::plan(const PlanOptions& options, const Topology& topology) {
    const auto in_words_of_a_job = [&](std::string text) {  // instead of other commands' options
        for (const std::string key : {"tensor", "pipeline"})
            text = replaced(text, "--" + key + " ", "engine." + key + " = ");
        return fmt::format("{}: {}", job_.path(), text);
    };
    try {
        planned_ = llm::plan_replica(
            model_->source(), replica_request(options.device, options.ranks_per_node), topology, workload());
        planned_->plan.notes = memory_notes(*planned_);
        return planned_->plan;
    } catch (const JobError& error) {
        throw JobError(in_words_of_a_job(error.what()));
    } catch (const MachineError& error) {
        throw MachineError(in_words_of_a_job(error.what()));
    }
}

std::vector<std::string> LlmApp::warnings() const {
    const std::string skipped = llm::skipped_text(prompts_.prompts);
    return skipped.empty() ? std::vector<std::string>{} : std::vector{skipped};
}

void LlmApp::connect(const MpiSession& mpi) {
    replica_ = std::make_unique<llm::Replica>(mpi, model_->source(), std::move(planned_.value()));
    replica_->teams().hand_over();  // run() has a thread of its own
}

void LlmApp::run(RankContext& rank, WorkScheduler& work, ResultWriter& results) {
    if (rank.mine().device >= 0) use_device(rank.mine().device);  // each thread has one
    const llm::Session session(*model_, *replica_);
    session.answer({.many = true}, [&](llm::Engine& engine) { lead(engine, work, results); });
    replica_->teams().hand_over();  // back to the main thread, which frees them
}

void LlmApp::lead(llm::Engine& engine, WorkScheduler& work, ResultWriter& results) {
    llm::PromptRows rows(prompts_.prompts, top_n(), [&](WorkRange range, std::vector<FieldBuffer> data) {
        results.submit(range, std::move(data));
    });
    const llm::FeedSettings feed{replica_->request().sequences, replica_->plan().pages,
                                 job_.real("run.range_seconds")};
    llm::feed_prompts(prompts_.prompts, engine, rows, work, feed);
}

std::unique_ptr<App> make_llm(const JobSpec& job) {
    return std::make_unique<LlmApp>(job);
}

}  // namespace voltpile
