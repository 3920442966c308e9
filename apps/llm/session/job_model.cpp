#include "llm/session/job_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/format.h"
#include "base/shipped_files.h"
#include "llm/model/kv_element_names.h"
#include "llm/model/synthetic_shapes.h"
#include "llm/replica/replica_fields.h"
#include "llm/replica/same_model.h"

namespace voltpile::llm {
namespace {

bool exists(const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(find_shipped(path, ""), error);
}

// Where a path that does not exist was looked for: " in FOLDER".
std::string looked_in(const std::filesystem::path& path) {
    std::error_code error;
    return path.is_absolute() ? "" : fmt::format(" in {}", std::filesystem::current_path(error).string());
}

// Throws FileError if the job's model does not exist: says where it looked and how to do without.
void check_model_exists(const JobSpec& job) {
    const std::string path = job.text("model.path");
    if (exists(path)) return;
    const std::string looked = looked_in(path);
    throw FileError(
        fmt::format(
            "{}: model.path = \"{}\" does not exist{}; give the model's place with --set model.path=..., or "
            "use random weights of a model's shape with --set model.synthetic=... ({})",
            job.path(), path, looked, fmt::join(synthetic_shape_names(), ", ")),
        ExitCode::BadInput);
}

// What the fullest rank of each stage holds: one line a stage. The sum is its memory in the plan's table.
std::vector<std::string> memory_notes(const ReplicaPlan& plan) {
    const auto tokens = static_cast<std::int64_t>(plan.pages) * kv_page_tokens;
    std::vector<std::string> notes;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        const StageNeeds& stage = plan.stages[s];
        const auto bytes = [](auto count) { return bytes_text(static_cast<double>(count)); };
        notes.push_back(fmt::format(
            "{}layers {} to {}: {} of weights a rank{}, {} for the keys and values of {} tokens, {}{} "
            "for activations and connections",
            plan.stages.size() > 1 ? fmt::format("stage {}, ", s) : "", stage.layer_begin,
            stage.layer_end - 1, bytes(stage.weights),
            stage.whole_layers > 0 ? fmt::format(" and {} of whole layers", bytes(stage.whole_layers)) : "",
            bytes(stage.kv_per_token * static_cast<std::uint64_t>(tokens)), count_text(tokens),
            plan.streamed_bytes(stage) > 0
                ? bytes(plan.streamed_bytes(stage)) + " for a layer's experts from host memory, "
                : "",
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

ModelChoice model_of_job(const JobSpec& job, const Communicator* world) {
    ModelChoice choice{.shape = job.text("model.synthetic"), .quant = job.text("model.format")};
    choice.lora = adapter_choices(job.texts("model.lora"));
    if (!choice.shape.empty()) return choice;
    choice.path = find_shipped(job.text("model.path"), "");
    if (world)
        all_do(*world, [&] { check_model_exists(job); });
    else
        check_model_exists(job);
    return choice;
}

std::string draft_of_job(const JobSpec& job, const Communicator* world) {
    const std::string& path = job.text("engine.draft");
    if (path.empty()) return path;
    const auto check = [&] {
        if (!exists(path))
            throw FileError(
                fmt::format("{}: engine.draft = \"{}\" does not exist{}", job.path(), path, looked_in(path)),
                ExitCode::BadInput);
    };
    if (world)
        all_do(*world, check);
    else
        check();
    return find_shipped(path, "");
}

std::string model_text(const JobSpec& job) {
    const std::string& shape = job.text("model.synthetic");
    return shape.empty() ? job.text("model.path")
                         : fmt::format("synthetic {} {}", shape, job.text("model.format"));
}

ReplicaRequest replica_request_of(const JobSpec& job) {
    ReplicaRequest request;
    for (const ReplicaField& field : kReplicaFields) {
        const std::string key = fmt::format("engine.{}", field.name);
        if (const auto* number = std::get_if<int ReplicaRequest::*>(&field.member))
            request.** number = static_cast<int>(job.integer(key));
        else
            request.*std::get<bool ReplicaRequest::*>(field.member) = job.boolean(key);
    }
    request.cache_tokens = job.integer("engine.cache_tokens");
    request.shrinks = request.cache_tokens == 0;
    request.logits = request.sequences;
    request.cache = kv_element_of(job.text("engine.cache"));
    request.speculate = speculate_of(job.text("engine.speculate"));
    return request;
}

ReplicaPlan plan_job_replica(const JobSpec& job, const ModelSource& model, ReplicaRequest request,
                             const PlanOptions& options, const Topology& topology, const Workload& work) {
    request.device = options.device;
    request.threads = options.threads;
    request.ranks_per_node = options.ranks_per_node;
    const auto in_words_of_a_job = [&](std::string text) {
        for (const std::string key : {"tensor", "pipeline"})
            text = replaced(text, "--" + key + " ", "engine." + key + " = ");
        text = replaced(text, "--experts-on-host ", "engine.experts_on_host = ");
        text = replaced(text, "--draft-ranks ", "engine.draft_ranks = ");
        text = replaced(text, "--context-parallel on", "engine.context_parallel = true");
        text = replaced(text, "--batch-invariant on", "engine.batch_invariant = true");
        return fmt::format("{}: {}", job.path(), text);
    };
    try {
        ReplicaPlan plan = plan_replica(model, request, topology, work);
        std::vector<std::string> notes = memory_notes(plan);
        plan.plan.notes.insert(plan.plan.notes.begin(), notes.begin(), notes.end());
        return plan;
    } catch (const JobError& error) {
        throw JobError(in_words_of_a_job(error.what()));
    } catch (const MachineError& error) {
        throw MachineError(in_words_of_a_job(error.what()));
    }
}

double products_per_token(const ModelSource& model) {
    double sum = 0;
    for (const ModelTensor& tensor : model.tensors())
        sum += static_cast<double>(tensor.rows) * static_cast<double>(tensor.columns);
    if (!model.config().tied_embeddings)
        sum -= static_cast<double>(model.config().vocab) * static_cast<double>(model.config().hidden);
    return sum;
}

}  // namespace voltpile::llm
