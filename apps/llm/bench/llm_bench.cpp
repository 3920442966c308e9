#include "llm/bench/llm_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "device/device.h"
#include "device/memory.h"
#include "llm/bench/bench_report.h"
#include "llm/bench/bench_sequences.h"
#include "llm/bench/file_rate.h"
#include "llm/bench/pass_profile.h"
#include "llm/model/model_files.h"
#include "llm/model/model_memory.h"
#include "llm/ops/cpu/kernels.h"
#include "llm/replica/rank_ops.h"
#include "llm/session/session.h"
#include "measure/gpu_rates.h"
#include "measure/host_caches.h"
#include "measure/host_rates.h"
#include "results/hdf5/table_file.h"
#include "run/agreement.h"
#include "run/parent_launcher.h"
#include "run/progress.h"

namespace voltpile::llm {
namespace {

using nlohmann::json;

constexpr int warm_steps = 3;  // the first runs call by call, the second is recorded, the third replayed
constexpr std::int64_t read_bytes_gpu = std::int64_t{1} << 30;
constexpr int prompt_rounds = 3;

// Returns the bytes of weights that one tensor rank of each stage reads in a pass: all except an embedding,
// from which a pass reads only single rows.
double weights_of_pass(const ModelSource& model, const ReplicaPlan& plan) {
    std::uint64_t bytes = 0;
    for (const StageNeeds& stage : plan.stages) bytes += stage.stored;
    const bool shared =
        model.config().tied_embeddings && plan.stages.size() == 1 && plan.plan.teams.tensor == 1;
    if (!shared) bytes -= weight_bytes(model).embedding;
    return static_cast<double>(bytes);
}

// Returns the bytes of the experts that a pass does not read if its tokens choose experts at random.
double unused_in_pass(const ModelSource& model, const ReplicaPlan& plan, int tokens) {
    double experts = 0;
    for (const StageNeeds& stage : plan.stages)
        experts += static_cast<double>(stage.experts + stage.host_experts);
    return experts * std::pow(weight_bytes(model).unused_experts, tokens);
}

std::int64_t bytes_in_use(const RankPlan& rank) {
    return rank.device >= 0 ? device_bytes_in_use() : host_bytes_in_use();
}

class LlmBench {
  public:
    // bytes_before: in use before loading.
    LlmBench(const Session& session, int world_rank, const LlmBenchOptions& options,
             std::int64_t bytes_before)
        : options_(options),
          session_(session),
          model_(session.model().source()),
          replica_(session.replica()),
          world_rank_(world_rank),
          rank_(replica_.plan().plan.ranks[static_cast<std::size_t>(world_rank_)]),
          bytes_before_(bytes_before),
          sequences_(replica_.request(), static_cast<int>(model_.config().vocab),
                     session.model().adapter_names()),
          line_(terminal_columns()) {}

    void run() {
        const TeamPlan& teams = replica_.plan().plan.teams;
        result_.model = model_text(session_.model());
        result_.processor = replica_.describe();
        const CpuKernels kernels = cpu_kernels(cpu_level());
        result_.in_files =
            rank_.device < 0 && std::ranges::all_of(model_.tensors(), [&](const ModelTensor& t) {
                return t.data != nullptr && !by_integers(kernels, t.format);
            });
        result_.tensor = teams.tensor;
        result_.pipeline = teams.pipeline;
        result_.weight_bytes = weights_of_pass(model_, replica_.plan());
        measure_rates();
        run_passes(replica_, [&](ReplicaPasses& passes) { measure_passes(passes); });
        profile();
        measure_host_memory();
        gather();
        line_.clear();
        if (!replica_.leads()) return;
        fmt::print("{}", options_.json ? to_json(result_) + "\n" : to_text(result_));
        if (options_.output.empty()) return;
        write_llm_bench(result_, replica_.plan().plan, options_);
        if (!options_.json) fmt::print("-> {}\n", options_.output.string());
    }

  private:
    void say(const std::string& text) {
        if (replica_.leads() && terminal_columns() > 0) line_.show(text);
    }
    void together() { replica_.teams().team().all_gather(""); }

    void measure_rates() {
        say("measuring the memory ...");
        together();
        if (rank_.device >= 0)
            mine_.read_rate = gpu_read_rate(rank_.device, read_bytes_gpu, *replica_.stream());
        measure_host_memory();
        const auto* files = dynamic_cast<const ModelFiles*>(&model_);
        together();
        if (files != nullptr)
            mine_.file_rate = file_read_rate(files->paths(), replica_.teams().team().rank(),
                                             replica_.teams().team().size());
        mine_.loaded_bytes = static_cast<double>(replica_.loaded_bytes());
        mine_.load_s = replica_.load_seconds();
    }

    // Before and after the passes, and the higher rate counts: other programs may disturb either.
    void measure_host_memory() {
        if (rank_.device >= 0) return;
        const std::vector<int> pus = pus_of(replica_.plan().plan, world_rank_);
        const auto ranks =
            static_cast<int>(std::ranges::count(replica_.plan().plan.ranks, rank_.host, &RankPlan::host));
        mine_.cache_bytes = static_cast<double>(last_level_cache_bytes(pus)) / ranks;
        together();
        mine_.read_rate = std::max(mine_.read_rate, host_read_rate(bytes_beyond_caches(pus, ranks), pus));
    }

    void measure_passes(ReplicaPasses& passes) {
        for (const int prompt : options_.prompts) measure_prompt(passes, prompt);
        for (const int batch : options_.batches)
            for (const int context : options_.contexts) measure_generation(passes, batch, context);
        sequences_.prefill(passes, options_.batches.front(), options_.contexts.front());  // for profile()
    }

    void measure_prompt(ReplicaPasses& passes, int tokens) {
        say(fmt::format("measuring a prompt of {} ...", tokens));
        sequences_.answer_prompt(passes, tokens);
        std::vector<double> times;
        int prompt_passes = 0;
        for (int i = 0; i < prompt_rounds; ++i) {
            const BenchSequences::Answered answered = sequences_.answer_prompt(passes, tokens);
            times.push_back(answered.seconds);
            prompt_passes = answered.passes;
        }
        const double seconds = *std::ranges::min_element(times);
        if (result_.rows.empty()) first_prompt_passes_ = prompt_passes;
        result_.rows.push_back({"prompt", 1, tokens, seconds, tokens / seconds, 0, 0});
    }

    void measure_generation(PassExecutor& passes, int batch, int context) {
        say(fmt::format("measuring decode steps of {} sequences after {} tokens ...", batch, context));
        sequences_.prefill(passes, batch, context);
        const BatchLimits limits = replica_.request().limits();
        const int end = context + options_.generated, count = sequences_.passes_of_step(passes),
                  rows = (batch + count - 1) / count;
        const bool one_shape = step_shape(rows, context + 1, limits) == step_shape(rows, end, limits);
        sequences_.generate(passes, one_shape ? warm_steps : options_.generated + warm_steps);
        sequences_.rewind(context);
        const double seconds = sequences_.generate(passes, options_.generated) / options_.generated;
        // Each stage reads its weights `count` times in a step, and as many stages read at once.
        const double bytes = result_.weight_bytes - unused_in_pass(model_, replica_.plan(), rows);
        result_.rows.push_back({"generation", batch, context, seconds, batch / seconds, bytes / seconds, 0});
    }

    // Profiles the first prompt, and the first batch at the first context.
    void profile() {
        say("measuring single operations ...");
        const int batch = options_.batches.front(), context = options_.contexts.front();
        sequences_.place(batch, context);
        const Batch next = sequences_.next_batch();
        own_["generation"] = profile_pass(
            replica_, filled_up(next, step_shape(batch, context + 1, replica_.request().limits())));
        own_["prompt"] = profile_pass(replica_, sequences_.prompt_batch(options_.prompts.front()));
    }

    // Gathers every rank's measurements on the leader; times of operations come from the first rank of each
    // stage.
    void gather() {
        const std::int64_t loading = rank_.device >= 0 ? replica_.gpu_bytes_before() : bytes_before_;
        mine_.measured_bytes = static_cast<double>(bytes_in_use(rank_) - loading);
        if (rank_.device >= 0) {
            mine_.context_bytes = static_cast<double>(bytes_before_);
            mine_.link_bytes = static_cast<double>(loading - bytes_before_);
            mine_.pass_bytes = static_cast<double>(bytes_in_use(rank_) - replica_.gpu_bytes_loaded());
        }
        const ReplicaPlan& plan = replica_.plan();
        mine_.planned_bytes = static_cast<double>(
            plan.kept_bytes(plan.stages[static_cast<std::size_t>(replica_.teams().place().stage)]) +
            plan.working);
        json own{{"stage", replica_.teams().place().stage},
                 {"tensor_rank", replica_.teams().place().tensor_rank},
                 {"operations", own_},
                 {"numbers",
                  {mine_.read_rate, mine_.cache_bytes, mine_.loaded_bytes, mine_.load_s, mine_.file_rate,
                   mine_.planned_bytes, mine_.measured_bytes, mine_.context_bytes, mine_.link_bytes,
                   mine_.pass_bytes}}};
        const std::vector<std::string> all = replica_.teams().team().all_gather(own.dump());
        if (!replica_.leads()) return;
        std::map<std::string, std::map<std::string, double>> times;
        for (const std::string& text : all) {
            const json rank = json::parse(text);
            const json& n = rank["numbers"];
            result_.ranks.push_back({n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9]});
            if (rank["tensor_rank"] != 0) continue;
            for (const auto& [pass, operations] : rank["operations"].items())
                for (const auto& [name, seconds] : operations.items())
                    times[pass][name] += seconds.get<double>();
        }
        const double rate = std::ranges::min(result_.ranks, {}, &LlmBenchRank::read_rate).read_rate;
        for (LlmBenchRow& row : result_.rows) row.bandwidth_share = row.weights_per_s / rate;
        for (const char* pass : {"prompt", "generation"}) add_operations(pass, times[pass]);
    }

    // Lists the operations, the slowest first, and last the rest of the time of a pass.
    void add_operations(const std::string& pass, const std::map<std::string, double>& times) {
        const auto row = std::ranges::find(result_.rows, pass, &LlmBenchRow::pass);
        std::vector<LlmBenchOp> operations;
        double sum = 0;
        for (const auto& each : times) sum += each.second;
        // A longer prompt takes several passes, which overlap in a pipeline; only a single pass was profiled.
        const bool whole = pass != "prompt" || first_prompt_passes_ == 1;
        for (const auto& [name, seconds] : times)
            operations.push_back({pass, name, seconds, seconds / (whole ? row->seconds : sum)});
        std::ranges::sort(operations, std::greater(), &LlmBenchOp::seconds);
        result_.operations.insert(result_.operations.end(), operations.begin(), operations.end());
        if (whole)
            result_.operations.push_back(
                {pass, "hand-over, launches, host", row->seconds - sum, (row->seconds - sum) / row->seconds});
    }

    const LlmBenchOptions& options_;
    const Session& session_;
    const ModelSource& model_;
    Replica& replica_;
    int world_rank_;
    const RankPlan& rank_;
    std::int64_t bytes_before_;
    BenchSequences sequences_;
    LiveLine line_;
    LlmBenchResult result_;
    int first_prompt_passes_ = 0;
    LlmBenchRank mine_;
    std::map<std::string, std::map<std::string, double>> own_;  // seconds by pass and operation
};

// Completes the request for the replica.
void fill_in_request(LlmBenchOptions& options) {
    ReplicaRequest& request = options.request;
    const int generated = std::ranges::max(options.contexts) + options.generated + warm_steps + 1;
    request.context = std::max(std::ranges::max(options.prompts) + 1, generated);
    request.sequences = request.logits = std::ranges::max(options.batches);
    // One prompt at a time, or the largest batch after the longest context: not the longest prompt for each
    // sequence of the batch.
    const std::int64_t pages = std::max<std::int64_t>(request.pages_per_sequence(),
                                                      std::int64_t{request.sequences} * pages_for(generated));
    request.cache_tokens = pages * kv_page_tokens;
}

}  // namespace

void check_output(const Communicator& world, const LlmBenchOptions& options) {
    decide_on_root(world, [&] {
        if (!options.output.empty())
            check_table_place(options.output, llm_bench_title, "--output", {options.model});
        return std::string();
    });
}

std::unique_ptr<LanguageModel> open_model(const Communicator& world, const LlmBenchOptions& options) {
    return LanguageModel::open(world, {.path = options.model,
                                       .shape = options.shape,
                                       .quant = options.quant,
                                       .lora = options.lora,
                                       .random_adapters = options.random_adapters,
                                       .random_rank = options.random_rank});
}

std::string model_text(const LanguageModel& model) {
    const ModelSource::Adapters& adapters = model.source().adapters();
    if (adapters.empty()) return model.name();
    int rank = 0;
    for (const auto& adapter : adapters) rank = std::max(rank, adapter->rank());
    const bool several = adapters.size() > 1;
    return fmt::format("{}; {} adapter{} of rank {}{}", model.name(), adapters.size(), several ? "s" : "",
                       rank, several ? " in turn" : "");
}

void run_llm_bench(const MpiSession& mpi, LlmBenchOptions options) {
    const Communicator& world = mpi.world();
    check_output(world, options);
    const auto model = open_model(world, options);
    fill_in_request(options);
    ReplicaPlan plan = agreed_plan(mpi, model->source(), options.request);
    const RankPlan& mine = plan.plan.ranks[static_cast<std::size_t>(world.rank())];
    if (mine.device >= 0) use_device(mine.device);
    const std::int64_t before = bytes_in_use(mine);
    with_session(mpi, *model, std::move(plan),
                 [&](Session& session) { LlmBench(session, world.rank(), options, before).run(); });
}

}  // namespace voltpile::llm
