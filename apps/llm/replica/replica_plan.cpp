#include "llm/replica/replica_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/format.h"
#include "llm/model/expert_tensors.h"
#include "llm/model/lora/adapter_memory.h"
#include "llm/model/tensor_parallel.h"
#include "llm/replica/draft_plan.h"
#include "llm/replica/experts_on_host.h"
#include "llm/replica/host_pages.h"
#include "llm/replica/replica_estimates.h"
#include "llm/replica/replica_pace.h"
#include "llm/replica/replica_refusal.h"
#include "llm/replica/replica_room.h"
#include "plan/cores.h"

namespace voltpile::llm {
namespace {

constexpr int kWidest = 16;  // the widest tensor parallelism that messages suggest

// The rows of a pass where the request leaves them open. With more rows, GPUs expand weights less often; but
// rows take memory, at most this share of the cache's, and nothing can stop, or begin, within a pass.
constexpr int kUsualRows = 512, kMostRows = 8192;
constexpr double kShareOfCacheForRows = 0.05, kLongestPass_s = 1;

// Passes with so many rows for each rank are cut by rows. With fewer, whole layers take longer than a share
// of them and the sums (measured on two H200 and on two cores).
constexpr int kGpuRowsToCut = 512, kHostRowsToCut = 128;

// Returns a warning about the first rank that computes on cores of several NUMA nodes, or an empty text. The
// memory of each of these nodes has a part of its weights, and its cores read all parts.
std::string advice_on_numa_nodes(const Plan& plan) {
    const auto computes = [&](std::size_t rank) {
        return plan.teams.places[rank].replica >= 0 && plan.ranks[rank].gpu < 0;
    };
    for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
        if (!computes(r)) continue;
        const Host& host = plan.host_of(plan.ranks[r]);
        const int nodes = numa_nodes_of(host, plan.ranks[r].cores);
        if (nodes < 2) continue;
        std::vector<int> all;  // cores of this host
        for (std::size_t other = 0; other < plan.ranks.size(); ++other) {
            const RankPlan& rank = plan.ranks[other];
            if (computes(other) && rank.host == plan.ranks[r].host)
                all.insert(all.end(), rank.cores.begin(), rank.cores.end());
        }
        return fmt::format(
            "rank {} computes on cores of {} NUMA nodes, which read much of the weights from each "
            "other's memory; with {} ranks on {} each has its part in its own",
            r, nodes, numa_nodes_of(host, all), host.name);
    }
    return "";
}

class ReplicaPlanner {
  public:
    ReplicaPlanner(const ModelSource& model, const ReplicaRequest& request, const Topology& topology,
                   Workload work)
        : model_(model), request_(request), points_(work.points), weights_(weight_bytes(model)) {
        // At least a point for each rank, because the ranks that lead are not known yet.
        work.points = std::max(work.points, std::ssize(topology.ranks));
        PlanOptions options;
        options.device = request.device;
        options.threads = request.threads;
        options.ranks_per_node = request.ranks_per_node;
        machine_ = make_plan(work, options, topology);
        candidates_ = team_candidates(machine_);
        for (std::size_t r = 0; r < candidates_.size(); ++r)
            candidates_[r].excluded = !request.may_use(static_cast<int>(r));
    }
    ReplicaPlanner(const ReplicaPlanner&) = delete;  // room_ refers to candidates_
    ReplicaPlanner& operator=(const ReplicaPlanner&) = delete;

    ReplicaPlan plan() const {
        check_request();
        std::optional<ReplicaPlan> best;     // of the plans for an open number of replicas
        std::optional<ReplicaPlan> largest;  // with the most ranks of those with too little room
        for (const int tensor : tensors()) {
            const auto cuts = [](const auto& wider) { return wider && wider->rows_to_cut > 0; };
            if (tensor == 1 && (cuts(best) || cuts(largest))) break;  // one rank would cut nothing
            for (const int pipeline : pipelines(tensor)) {
                std::optional<ReplicaPlan> each =
                    with(tensor, pipeline, std::max(request_.experts_on_host, 0));
                if (!each) continue;
                if (each->streamed_rows > 0 && !room_.fits(*each))
                    each = with(tensor, pipeline, request_.experts_on_host, false);
                if (room_.fits(*each)) {
                    if (request_.replicas > 0) return finished(std::move(*each));
                    if (!best || busy_ranks(*each) > busy_ranks(*best)) best = std::move(each);
                    break;
                }
                if (!largest || ranks_of(*each) > ranks_of(*largest)) largest = std::move(each);
            }
        }
        if (!best) best = with_experts_on_host();
        if (best) return finished(std::move(*best));
        if (!largest)
            plan_teams(shape(request_.tensor, request_.pipeline), candidates_);  // throws the reason
        refuse(*largest, all_experts_on_host(*largest), room_, model_.config(), weights_);
    }

  private:
    void check_request() const {
        if (request_.pages_per_sequence() > std::numeric_limits<int>::max() / request_.sequences)
            throw JobError(fmt::format("{} sequences of {} tokens each exceed the largest possible KV cache",
                                       request_.sequences, request_.context));
        const ModelConfig& config = model_.config();
        if (request_.tensor > 0)
            if (const auto obstacle = tensor_parallel_obstacle(model_, request_.tensor); !obstacle.empty())
                throw JobError(fmt::format("tensor parallelism over {} ranks: {}; {} would do",
                                           request_.tensor, obstacle, fmt::join(possible_tensors(), ", ")));
        if (request_.pipeline > config.layers && !config.prediction)
            throw JobError(fmt::format("{} pipeline stages: the model has {} layers, so at most {} stages",
                                       request_.pipeline, config.layers, config.layers));
        check_experts_on_host(config, request_);
        check_cache();
        if (request_.context_parallel) check_context_parallel();
    }

    void check_cache() const {
        if (request_.cache != KvElement::F32) return;
        for (std::size_t r = 0; r < candidates_.size(); ++r)
            if (!candidates_[r].excluded && machine_.ranks[r].gpu >= 0)
                throw JobError(
                    "--cache fp32 is for cores, and there are GPUs: use --cpu (run.device = \"cpu\" in a "
                    "job) "
                    "or --cache fp16");
    }

    void check_context_parallel() const {
        const auto refuse = [](const char* why) {
            throw JobError(fmt::format("--context-parallel on {}", why));
        };
        if (request_.batch_invariant)
            refuse("does not go with --batch-invariant on: a prompt's last bits depend on whether it is cut");
        if (!model_.adapters().empty()) refuse("does not work with adapters");
        if (request_.experts_on_host > 0) refuse("does not work with experts in host memory");
    }

    // Returns the plan with the experts of some layers in host memory, if the request leaves their number
    // open: of each cut the one with the fewest, and of these the fastest. Nothing if none fits.
    std::optional<ReplicaPlan> with_experts_on_host() const {
        const int layers = most_experts_on_host(model_.config());
        if (request_.experts_on_host >= 0 || layers == 0 || request_.context_parallel) return std::nullopt;
        std::optional<ReplicaPlan> best;
        double fastest = -1;
        for (const int tensor : tensors()) {
            std::vector<int> longest_first = pipelines(tensor);  // more GPUs hold more experts
            std::ranges::reverse(longest_first);
            for (const int pipeline : longest_first) {
                std::optional<ReplicaPlan> each = with_fewest_on_host(tensor, pipeline, layers);
                if (!each) continue;
                const double rate = room_.fits(*each) ? estimate_pace(*each, weights_).one_sequence : -1;
                if (rate > fastest) {
                    fastest = rate;
                    best = std::move(each);
                }
                break;
            }
        }
        return best;
    }

    // Returns the plan of one cut with the experts of as few layers in host memory as let the rest fit into
    // the GPUs, or with those of all layers if that is not enough; nothing if there are too few ranks. Takes
    // more layers if passes can then copy experts to the GPUs.
    std::optional<ReplicaPlan> with_fewest_on_host(int tensor, int pipeline, int layers) const {
        std::optional<ReplicaPlan> fewest = search_on_host(tensor, pipeline, 0, layers, false);
        if (!fewest || !room_.fits(*fewest)) return fewest;  // copies take more of both memories
        const int enough = fewest->experts_on_host;
        std::optional<ReplicaPlan> streamed = search_on_host(tensor, pipeline, enough - 1, layers, true);
        return streamed->streamed_rows > 0 && room_.fits(*streamed) ? streamed : fewest;
    }

    // Returns the plan with the experts of the fewest layers above `too_few` in host memory that fits the
    // GPUs, or with those of `most` if none fits. With `streams`, too_few + 1 layers must suffice without:
    // then more layers fit if they leave enough room for copies, or if their copies would take too long.
    std::optional<ReplicaPlan> search_on_host(int tensor, int pipeline, int too_few, int most,
                                              bool streams) const {
        std::optional<ReplicaPlan> enough = with(tensor, pipeline, most, streams);
        if (!enough || !room_.fits_gpus(*enough)) return enough;
        while (enough->experts_on_host - too_few > 1) {
            const int middle = (enough->experts_on_host + too_few) / 2;
            std::optional<ReplicaPlan> less = with(tensor, pipeline, middle, streams);
            if (room_.fits_gpus(*less))
                enough = std::move(less);
            else
                too_few = middle;
        }
        return enough;
    }

    std::vector<int> possible_tensors() const {
        std::vector<int> all;
        for (int t = 1; t <= kWidest; ++t)
            if (tensor_parallel_obstacle(model_, t).empty()) all.push_back(t);
        return all;
    }

    // Returns the widths to try, the widest first: sums within a group cost less than stages that wait.
    std::vector<int> tensors() const {
        if (request_.tensor > 0) return {request_.tensor};
        const std::vector<int> all = possible_tensors();
        return {all.rbegin(), all.rend()};
    }
    std::vector<int> pipelines(int tensor) const {
        if (request_.pipeline > 0) return {request_.pipeline};
        const auto usable = std::ranges::count(candidates_, false, &TeamCandidate::excluded);
        const auto most = std::min(model_.config().layers, usable / tensor);
        std::vector<int> all;
        for (int p = 1; p <= most; ++p) all.push_back(p);
        return all;
    }

    TeamShape shape(int tensor, int pipeline) const {
        TeamShape shape;
        shape.tensor = tensor;
        shape.pipeline = pipeline;
        shape.replicas = request_.replicas;
        shape.tensor_divides = static_cast<int>(model_.config().heads);
        return shape;
    }

    // Returns the plan of one cut with the experts of the last N layers that have them in host memory, on
    // ranks with GPUs; nothing if there are too few ranks. streams: passes may copy these experts to the
    // GPUs.
    std::optional<ReplicaPlan> with(int tensor, int pipeline, int experts_on_host,
                                    bool streams = true) const {
        ReplicaPlan out;
        out.request = request_;
        out.request.rows = std::max(request_.rows > 0 ? request_.rows : rows_of_all(kUsualRows),
                                    request_.sequences + request_.guess_rows());
        out.plan = machine_;
        try {
            out.plan.teams = plan_teams(shape(tensor, pipeline), candidates_);
        } catch (const MachineError&) {
            return std::nullopt;
        }
        if (layout_of(out.plan) == WeightLayout::Gpu) check_experts_on_gpus(model_);
        if (request_.context > model_.config().context)
            out.plan.warnings.push_back(fmt::format("the model supports {} tokens of context, not {}",
                                                    count_text(model_.config().context),
                                                    count_text(request_.context)));
        out.plan.warnings.insert(out.plan.warnings.end(), out.plan.teams.notes.begin(),
                                 out.plan.teams.notes.end());
        if (layout_of(out.plan) == WeightLayout::Gpu) out.experts_on_host = experts_on_host;
        set_rows_to_cut(out);
        room_.cut(out);
        // Cores compute all passes whose rows must not depend on others or may have adapters of experts.
        if (streams && out.experts_on_host > 0 && !request_.batch_invariant &&
            !adapts_experts(model_.adapters())) {
            const int least = rows_to_stream(out, weights_);
            if (least == 0 || least > most_rows()) return out;
            out.streamed_rows = least;
            if (request_.rows > 0) return out;
            out.request.rows = std::max(out.request.rows, std::min(most_rows(), 2 * least));
            room_.cut(out);
        }
        return out;
    }

    // If a pass can have enough rows to be cut, and for the rows that end with a page, takes so many where
    // the request leaves them open.
    void set_rows_to_cut(ReplicaPlan& plan) const {
        if (!request_.context_parallel || plan.plan.teams.tensor == 1) return;
        const int least = least_rows_to_cut(plan);
        if (most_rows_to_cut() < least) return;
        plan.rows_to_cut = least;
        if (request_.rows == 0)
            plan.request.rows =
                std::max(plan.request.rows, std::min(most_rows_to_cut(), least + kv_page_tokens));
    }

    static int least_rows_to_cut(const ReplicaPlan& plan) {
        return plan.plan.teams.tensor *
               (layout_of(plan.plan) == WeightLayout::Gpu ? kGpuRowsToCut : kHostRowsToCut);
    }

    // The most rows that a pass can have, by the request.
    int most_rows_to_cut() const {
        constexpr std::int64_t enough = 1 << 20;  // for any number of ranks
        const int tokens = rows_of_all(std::min(enough, std::int64_t{request_.pages()} * kv_page_tokens));
        return request_.rows > 0 ? std::min(request_.rows, tokens) : tokens;
    }

    // Why nothing is cut, or from how many rows on, for a request that wants prompts to be cut.
    void tell_of_cut(ReplicaPlan& plan) const {
        const auto text = [](int rows) { return count_text(std::int64_t{rows}); };
        if (plan.rows_to_cut > 0) {
            plan.plan.notes.push_back(
                fmt::format("passes of at least {} tokens are cut by tokens", text(plan.rows_to_cut)));
            return;
        }
        const int ranks = plan.plan.teams.tensor, least = least_rows_to_cut(plan);
        plan.plan.warnings.push_back(
            ranks == 1
                ? "prompts are not cut by tokens: no ranks share layers"
                : fmt::format("prompts are not cut by tokens: {} ranks need passes of {} tokens, but {} {}",
                              ranks, text(least),
                              request_.rows > 0 && request_.rows < least
                                  ? "the limit for a pass is"
                                  : "all sequences together have at most",
                              text(most_rows_to_cut())));
    }

    // The most rows that a pass may get.
    int most_rows() const {
        const auto cached = std::int64_t{request_.least_pages()} * kv_page_tokens;
        return request_.rows > 0 ? request_.rows
                                 : static_cast<int>(std::min<std::int64_t>(kMostRows, cached));
    }

    static int busy_ranks(const ReplicaPlan& plan) {
        return ranks_of(plan) * static_cast<int>(plan.plan.teams.teams.size());
    }

    ReplicaPlan with_cache(ReplicaPlan plan) const {
        const auto wanted = static_cast<std::uint64_t>(request_.pages()) * kv_page_tokens;
        const std::uint64_t most = room_.most_tokens(plan, wanted);
        // A cache that takes all the room there is leaves 5 % for what the plan does not know.
        const std::uint64_t taken = most < wanted ? std::max(most / 20 * 19, room_.tokens()) : most;
        plan.pages = static_cast<int>(taken / kv_page_tokens);
        return plan;
    }

    int rows_of_all(std::int64_t most) const {  // no more than all sequences have together
        return static_cast<int>(std::min(most, std::int64_t{request_.sequences} * request_.context));
    }

    // Takes more rows for passes on GPUs if the request leaves them open.
    ReplicaPlan with_rows(ReplicaPlan plan) const {
        if (request_.rows > 0 || layout_of(plan.plan) != WeightLayout::Gpu) return plan;
        for (int rows = kMostRows; rows > plan.request.rows; rows /= 2) {
            if (rows > plan.pages * kv_page_tokens) continue;  // more than the cache holds
            ReplicaPlan more = plan;
            more.request.rows = rows;
            room_.set_working(more);
            if (!room_.fits(more)) continue;
            more = with_cache(std::move(more));
            if (more.pages < (1 - kShareOfCacheForRows) * plan.pages) continue;
            const double rate = estimate_pace(more, weights_).prompt;
            const bool streamed = more.streamed_rows > 0 && rows >= more.streamed_rows;
            if (rate > 0 && rows > rate * (streamed ? longest_streamed_pass_s : kLongestPass_s)) continue;
            return more;
        }
        return plan;
    }

    ReplicaPlan finished(ReplicaPlan plan) const {
        plan = with_rows(with_cache(std::move(plan)));
        room_.keep_integers(plan);
        if (request_.context_parallel) tell_of_cut(plan);
        if (auto advice = advice_on_numa_nodes(plan.plan); !advice.empty())
            plan.plan.warnings.push_back(std::move(advice));
        add_estimates(plan, points_, room_, model_.config(), weights_);
        return plan;
    }

    // Returns the same cut with all experts in host memory, if the request leaves their number open and there
    // are any.
    std::optional<ReplicaPlan> all_experts_on_host(const ReplicaPlan& plan) const {
        const int layers = most_experts_on_host(model_.config());
        if (request_.experts_on_host >= 0 || layers == 0 || request_.context_parallel ||
            layout_of(plan.plan) != WeightLayout::Gpu)
            return std::nullopt;
        return with(plan.plan.teams.tensor, plan.plan.teams.pipeline, layers, false);
    }

    const ModelSource& model_;
    const ReplicaRequest& request_;
    std::int64_t points_;
    WeightBytes weights_;
    Plan machine_;
    std::vector<TeamCandidate> candidates_;
    ReplicaRoom room_{model_, request_, candidates_};
};

}  // namespace

ReplicaPlan plan_replica(const ModelSource& model, const ReplicaRequest& request, const Topology& topology,
                         const Workload& work) {
    if (request.draft != nullptr) return plan_with_draft(model, request, topology, work);
    return with_host_pages(ReplicaPlanner(model, request, topology, work).plan());
}

}  // namespace voltpile::llm
