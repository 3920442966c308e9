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
#include "llm/replica/replica_pace.h"

namespace voltpile::llm {
namespace {

constexpr double no_room = 1;  // bytes; shares of the layers need a positive number
constexpr int kWidest = 16;    // the widest tensor parallelism that messages suggest

// The rows of a pass where the request leaves them open. With more rows, GPUs expand weights less often; but
// rows take memory, at most this share of the cache's, and nothing can stop, or begin, within a pass.
constexpr int kUsualRows = 512, kMostRows = 8192;
constexpr double kShareOfCacheForRows = 0.05, kLongestPass_s = 1;

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
    }

    ReplicaPlan plan() const {
        check_request();
        std::optional<ReplicaPlan> best;     // of the plans for an open number of replicas
        std::optional<ReplicaPlan> largest;  // with the most ranks of those with too little room
        for (const int tensor : tensors())
            for (const int pipeline : pipelines(tensor)) {
                std::optional<ReplicaPlan> each =
                    with(tensor, pipeline, std::max(request_.experts_on_host, 0));
                if (!each) continue;
                if (each->streamed_rows > 0 && !fits(*each))
                    each = with(tensor, pipeline, request_.experts_on_host, false);
                if (fits(*each)) {
                    if (request_.replicas > 0) return finished(std::move(*each));
                    if (!best || busy_ranks(*each) > busy_ranks(*best)) best = std::move(each);
                    break;
                }
                if (!largest || ranks_of(*each) > ranks_of(*largest)) largest = std::move(each);
            }
        if (!best) best = with_experts_on_host();
        if (best) return finished(std::move(*best));
        if (!largest)
            plan_teams(shape(request_.tensor, request_.pipeline), candidates_);  // throws the reason
        refuse(*largest);
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
        check_experts_on_host(config, model_.adapters(), request_);
    }

    // Returns the plan with the experts of some layers in host memory, if the request leaves their number
    // open: of each cut the one with the fewest, and of these the fastest. Nothing if none fits.
    std::optional<ReplicaPlan> with_experts_on_host() const {
        const int layers = most_experts_on_host(model_.config(), model_.adapters());
        if (request_.experts_on_host >= 0 || layers == 0) return std::nullopt;
        std::optional<ReplicaPlan> best;
        double fastest = -1;
        for (const int tensor : tensors()) {
            std::vector<int> longest_first = pipelines(tensor);  // more GPUs hold more experts
            std::ranges::reverse(longest_first);
            for (const int pipeline : longest_first) {
                std::optional<ReplicaPlan> each = with_fewest_on_host(tensor, pipeline, layers);
                if (!each) continue;
                const double rate = fits(*each) ? estimate_pace(*each, weights_).one_sequence : -1;
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
        if (!fewest || !fits(*fewest)) return fewest;  // copies take more of both memories
        const int enough = fewest->experts_on_host;
        std::optional<ReplicaPlan> streamed = search_on_host(tensor, pipeline, enough - 1, layers, true);
        return streamed->streamed_rows > 0 && fits(*streamed) ? streamed : fewest;
    }

    // Returns the plan with the experts of the fewest layers above `too_few` in host memory that fits the
    // GPUs, or with those of `most` if none fits. With `streams`, too_few + 1 layers must suffice without:
    // then more layers fit if they leave enough room for copies, or if their copies would take too long.
    std::optional<ReplicaPlan> search_on_host(int tensor, int pipeline, int too_few, int most,
                                              bool streams) const {
        std::optional<ReplicaPlan> enough = with(tensor, pipeline, most, streams);
        if (!enough || !fits_gpus(*enough)) return enough;
        while (enough->experts_on_host - too_few > 1) {
            const int middle = (enough->experts_on_host + too_few) / 2;
            std::optional<ReplicaPlan> less = with(tensor, pipeline, middle, streams);
            if (fits_gpus(*less))
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
        const auto most = std::min(model_.config().layers, std::ssize(candidates_) / tensor);
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
        out.request.rows = std::max(request_.rows > 0 ? request_.rows : usual_rows(),
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
        cut(out);
        if (streams && out.experts_on_host > 0 && !request_.batch_invariant) {
            const int least = rows_to_stream(out, weights_);
            if (least == 0 || least > most_rows()) return out;
            out.streamed_rows = least;
            if (request_.rows > 0) return out;
            out.request.rows = std::max(out.request.rows, std::min(most_rows(), 2 * least));
            cut(out);
        }
        return out;
    }

    void cut(ReplicaPlan& plan) const {
        set_working(plan);
        plan.stages =
            stages_of(layout_of(plan.plan), plan.plan.teams.tensor, capacities(plan), plan.experts_on_host);
    }

    std::vector<StageNeeds> stages_of(WeightLayout layout, int tensor, const std::vector<double>& room,
                                      int experts_on_host) const {
        if (model_.config().prediction) return stages_of_prediction(layout, tensor, room);
        std::vector<StageNeeds> stages = cut_into_stages(model_, layout, tensor, room, request_.cache,
                                                         experts_on_host, request_.embeds_last);
        if (request_.prediction_rows() > 0)
            stages.back().kv_per_token += hidden_row_bytes(model_.config(), layout);
        return stages;
    }

    // Prediction layers and an EAGLE 3 head are on the last stage, beside the inputs of the model's head.
    std::vector<StageNeeds> stages_of_prediction(WeightLayout layout, int tensor,
                                                 const std::vector<double>& room) const {
        std::vector<StageNeeds> stages(room.size() - 1);
        stages.push_back(cut_into_stages(model_, layout, tensor, {&room.back(), 1}, request_.cache).front());
        return stages;
    }

    // The most rows that a pass may get.
    int most_rows() const {
        const auto cached = std::int64_t{request_.least_pages()} * kv_page_tokens;
        return request_.rows > 0 ? request_.rows
                                 : static_cast<int>(std::min<std::int64_t>(kMostRows, cached));
    }

    void set_working(ReplicaPlan& plan) const {
        const TeamPlan& teams = plan.plan.teams;
        const PassShape pass{teams.tensor,
                             model_.config().prediction ? 1 : teams.pipeline,  // its rows go to no next stage
                             plan.request.rows,
                             request_.limits().logits,
                             adapter_buffers(model_),
                             has_whole_experts(model_, teams.tensor),
                             request_.prediction_rows(),
                             static_cast<int>(request_.read_layers.size())};
        plan.working = working_bytes(model_.config(), layout_of(plan.plan), pass);
        plan.host_working = plan.experts_on_host > 0 ? host_working_bytes(model_.config(), pass) : 0;
    }

    static int ranks_of(const ReplicaPlan& plan) { return plan.plan.teams.tensor * plan.plan.teams.pipeline; }
    static int busy_ranks(const ReplicaPlan& plan) {
        return ranks_of(plan) * static_cast<int>(plan.plan.teams.teams.size());
    }

    // All ranks in teams have a GPU, or none has.
    static WeightLayout layout_of(const Plan& plan) {
        const int rank = plan.teams.teams.front().stages.front().front();
        return plan.ranks[static_cast<std::size_t>(rank)].gpu >= 0 ? WeightLayout::Gpu : WeightLayout::File;
    }

    // Returns the bytes that a rank has for weights and cache: on its GPU, or its share of the host's memory.
    double room_of(const ReplicaPlan& replica, int rank) const {
        const Plan& plan = replica.plan;
        const auto at = static_cast<std::size_t>(rank);
        if (plan.ranks[at].gpu >= 0)
            return static_cast<double>(candidates_[at].memory_bytes) -
                   reserved_bytes_of_gpu(plan.teams.tensor) - static_cast<double>(replica.working);
        std::int64_t sharing = 0;
        for (std::size_t other = 0; other < plan.ranks.size(); ++other)
            sharing += plan.ranks[other].host == plan.ranks[at].host && plan.ranks[other].gpu < 0 &&
                       plan.teams.places[other].replica >= 0;
        return static_cast<double>(plan.host_of(plan.ranks[at]).memory_bytes) / static_cast<double>(sharing) -
               reserved_bytes_of_host - static_cast<double>(replica.working);
    }

    static std::uint64_t connections(const Plan& plan) {
        const bool any = layout_of(plan) == WeightLayout::Gpu && plan.teams.tensor > 1;
        return any ? static_cast<std::uint64_t>(connection_bytes_of_gpu) : 0;
    }

    double taken(std::size_t stage) const {
        return request_.taken.empty() ? 0 : static_cast<double>(request_.taken.at(stage));
    }

    // Returns the room of a rank of each stage: the smallest in all replicas.
    std::vector<double> capacities(const ReplicaPlan& plan) const {
        std::vector<double> least(static_cast<std::size_t>(plan.plan.teams.pipeline), 1e300);
        for (const Team& team : plan.plan.teams.teams)
            for (std::size_t s = 0; s < least.size(); ++s)
                for (const int rank : team.stages[s])
                    least[s] = std::min(least[s], std::max(room_of(plan, rank) - taken(s), no_room));
        return least;
    }

    std::uint64_t tokens() const {
        return static_cast<std::uint64_t>(request_.least_pages()) * kv_page_tokens;
    }
    double need(const StageNeeds& stage) const {
        return static_cast<double>(stage.weights + stage.kv_per_token * tokens());
    }
    bool fits(const std::vector<StageNeeds>& stages, const std::vector<double>& room) const {
        for (std::size_t s = 0; s < stages.size(); ++s)
            if (need(stages[s]) > room[s]) return false;
        return true;
    }
    bool fits_gpus(const ReplicaPlan& plan) const {
        std::vector<double> room = capacities(plan);
        for (std::size_t s = 0; s < room.size(); ++s)
            room[s] -= static_cast<double>(plan.streamed_bytes(plan.stages[s]));
        return fits(plan.stages, room);
    }
    bool fits(const ReplicaPlan& plan) const { return fits_gpus(plan) && host_memory_obstacle(plan).empty(); }

    ReplicaPlan with_cache(ReplicaPlan plan) const {
        const auto wanted = static_cast<std::uint64_t>(request_.pages()) * kv_page_tokens;
        const std::uint64_t most = most_tokens(plan, wanted);
        // A cache that takes all the room there is leaves 5 % for what the plan does not know.
        const std::uint64_t taken = most < wanted ? std::max(most / 20 * 19, tokens()) : most;
        plan.pages = static_cast<int>(taken / kv_page_tokens);
        return plan;
    }

    int usual_rows() const {  // no more than all sequences have together
        return static_cast<int>(
            std::min(std::int64_t{kUsualRows}, std::int64_t{request_.sequences} * request_.context));
    }

    // Takes more rows for passes on GPUs if the request leaves them open.
    ReplicaPlan with_rows(ReplicaPlan plan) const {
        if (request_.rows > 0 || layout_of(plan.plan) != WeightLayout::Gpu) return plan;
        for (int rows = kMostRows; rows > plan.request.rows; rows /= 2) {
            if (rows > plan.pages * kv_page_tokens) continue;  // more than the cache holds
            ReplicaPlan more = plan;
            more.request.rows = rows;
            set_working(more);
            if (!fits(more)) continue;
            more = with_cache(std::move(more));
            if (more.pages < (1 - kShareOfCacheForRows) * plan.pages) continue;
            const double rate = estimate_pace(more, weights_).prompt;
            const bool streamed = more.streamed_rows > 0 && rows >= more.streamed_rows;
            if (rate > 0 && rows > rate * (streamed ? longest_streamed_pass_s : kLongestPass_s)) continue;
            return more;
        }
        return plan;
    }

    ReplicaPlan finished(ReplicaPlan plan) const { return estimated(with_rows(with_cache(std::move(plan)))); }

    static std::uint64_t room_for_cache(const ReplicaPlan& plan, std::size_t stage, double room) {
        return static_cast<std::uint64_t>(
            std::max(room - static_cast<double>(plan.streamed_bytes(plan.stages[stage])), 0.0));
    }

    // Returns how many tokens have room in all stages, at most `wanted`.
    std::uint64_t most_tokens(const ReplicaPlan& plan, std::uint64_t wanted) const {
        const std::vector<double> room = capacities(plan);
        std::uint64_t least = wanted;
        for (std::size_t s = 0; s < room.size(); ++s)
            least = std::min(least, tokens_in({&plan.stages[s], 1}, room_for_cache(plan, s, room[s])));
        return least / kv_page_tokens * kv_page_tokens;
    }

    // Returns how many processors with this much room hold the model in groups as in `like`; 0: no number.
    int enough_processors(const Plan& like, double room) const {
        const int tensor = like.teams.tensor;
        for (int p = 1; p <= model_.config().layers; ++p) {
            const std::vector<double> equal(static_cast<std::size_t>(p), room);
            if (fits(stages_of(layout_of(like), tensor, equal, std::max(request_.experts_on_host, 0)), equal))
                return tensor * p;
        }
        return 0;
    }

    // Returns the billions of parameters of a larger or smaller model like this one that would fit beside the
    // same cache; 0 if there is no room for weights at all.
    double largest_model(const ReplicaPlan& plan, const std::vector<double>& room) const {
        double share = std::numeric_limits<double>::infinity();
        for (std::size_t s = 0; s < room.size(); ++s) {
            const auto cache = static_cast<double>(plan.stages[s].kv_per_token * tokens());
            share = std::min(share, (room[s] - cache) / static_cast<double>(plan.stages[s].weights));
        }
        return share > 0 ? share * static_cast<double>(weights_.weights) / 1e9 : 0;
    }

    // Says why experts in host memory, as many as the plan might have chosen, do not help; empty if it
    // had no such choice.
    std::string no_help_from_host(const ReplicaPlan& plan) const {
        const int layers = most_experts_on_host(model_.config(), model_.adapters());
        if (request_.experts_on_host >= 0 || layers == 0 || layout_of(plan.plan) != WeightLayout::Gpu)
            return "";
        const auto all = with(plan.plan.teams.tensor, plan.plan.teams.pipeline, layers, false);
        if (!fits_gpus(*all)) return ", nor would it fit with all experts in host memory";
        return fmt::format("; with experts in host memory it would, but {}", host_memory_obstacle(*all));
    }

    [[noreturn]] void refuse(const ReplicaPlan& plan) const {
        if (fits_gpus(plan))
            throw MachineError(fmt::format("the model does not fit: {}", host_memory_obstacle(plan)));
        const std::vector<double> room = capacities(plan);
        std::size_t worst = 0;
        for (std::size_t s = 0; s < room.size(); ++s)
            if (need(plan.stages[s]) / room[s] > need(plan.stages[worst]) / room[worst]) worst = s;
        const StageNeeds& stage = plan.stages[worst];
        const int rank = plan.plan.teams.teams.front().stages[worst].front();
        const RankPlan& where = plan.plan.ranks[static_cast<std::size_t>(rank)];
        const bool gpu = where.gpu >= 0;
        const auto bytes = [](auto count) { return bytes_text(static_cast<double>(count)); };
        std::vector<std::string> ways;
        if (const auto most = most_tokens(plan, tokens()) /
                              static_cast<std::uint64_t>(request_.shrinks ? 1 : request_.sequences);
            most > 0)
            ways.push_back(fmt::format("with a context of at most {} tokens",
                                       count_text(static_cast<std::int64_t>(most))));
        if (const auto batch = static_cast<std::int64_t>(most_tokens(plan, tokens())) / kv_page_tokens /
                               request_.pages_per_sequence();
            batch > 0 && batch < request_.sequences)
            ways.push_back(fmt::format("with at most {} sequence{} at once", batch, batch == 1 ? "" : "s"));
        if (const int count =
                request_.taken.empty() ? enough_processors(plan.plan, std::ranges::min(room)) : 0;
            count > ranks_of(plan))
            ways.push_back(fmt::format("on {} {}", count, gpu ? "such GPUs" : "ranks with this much each"));
        if (const double most = largest_model(plan, room); most > 0)
            ways.push_back(
                fmt::format("with a model of at most {:.3g} billion parameters in this precision", most));
        throw MachineError(fmt::format(
            "the model does not fit: over {} rank{} (TP{} x PP{}) rank {} on {} needs {} for weights and {} "
            "for the keys and values of {} tokens, and {} has {}{}{}{}{}",
            ranks_of(plan), ranks_of(plan) == 1 ? "" : "s", plan.plan.teams.tensor, plan.plan.teams.pipeline,
            rank, plan.plan.host_of(where).name, bytes(stage.weights), bytes(stage.kv_per_token * tokens()),
            count_text(static_cast<std::int64_t>(tokens())),
            gpu ? "its " + processor_text(plan.plan, where) : "its share of the host's memory",
            room[worst] > no_room ? "room for " + bytes(room[worst])
                                  : "none beside the working memory of a pass",
            taken(worst) > 0 ? fmt::format(" beside the {} of the other model", bytes(taken(worst))) : "",
            no_help_from_host(plan), ways.empty() ? "" : "; it would fit ", fmt::join(ways, ", or ")));
    }

    // Adds speed, time and memory. Ranks without a GPU hold weights, cache and activations in host memory.
    ReplicaPlan estimated(ReplicaPlan out) const {
        double points_per_s = 0;
        for (const double speed : leader_speeds(out.plan)) points_per_s += speed;
        out.plan.workload.points = points_;
        out.plan.seconds = static_cast<double>(points_) / points_per_s;
        out.plan.start_s = out.plan.end_s = 0;  // how long the model loads is not known
        for (const StageNeeds& stage : out.stages)
            out.takes.push_back(out.kept_bytes(stage) + connections(out.plan) +
                                (stage.empty() ? 0 : out.working));
        for (std::size_t r = 0; r < out.plan.ranks.size(); ++r) {
            RankPlan& rank = out.plan.ranks[r];
            const TeamPlace& place = out.plan.teams.places[r];
            if (place.replica < 0) continue;
            const auto bytes = static_cast<std::int64_t>(out.takes[static_cast<std::size_t>(place.stage)]);
            if (rank.gpu >= 0) {
                rank.gpu_memory_bytes = bytes + static_cast<std::int64_t>(cuda_bytes_of_gpu);
                rank.memory_bytes +=
                    static_cast<std::int64_t>(cuda_bytes_of_host) +
                    static_cast<std::int64_t>(host_expert_bytes(out, static_cast<std::size_t>(place.stage)));
            } else {
                rank.memory_bytes += bytes;
            }
        }
        explain_memory(out);
        estimate_speed(out);
        return out;
    }

    // Says how the memory of each stage comes about, and which GPU is the fullest.
    void explain_memory(ReplicaPlan& out) const {
        const auto bytes = [](auto count) { return bytes_text(static_cast<double>(count)); };
        out.plan.formulas.clear();
        for (std::size_t s = 0; s < out.stages.size(); ++s) {
            const StageNeeds& stage = out.stages[s];
            if (stage.empty()) continue;
            out.plan.formulas.push_back(fmt::format(
                "memory of stage {} = {} of weights (layers {} to {}) + {} B a token x {} tokens + {} for "
                "activations and scratch space + {} for connections{} = {}",
                s, bytes(stage.weights), stage.layer_begin, stage.layer_end - 1, stage.kv_per_token,
                count_text(std::int64_t{out.pages} * kv_page_tokens), bytes(out.working),
                bytes(connections(out.plan)),
                out.streamed_rows > 0 && stage.host_layers > 0
                    ? fmt::format(" + {} for a layer's experts from host memory",
                                  bytes(out.streamed_bytes(stage)))
                    : "",
                bytes(out.takes[s])));
            if (stage.host_layers > 0)
                out.plan.formulas.push_back(
                    fmt::format("host memory of stage {} = {} of experts of {} layers + {} for their passes",
                                s, bytes(stage.host_experts), stage.host_layers, bytes(out.host_working)));
        }
        if (const std::string text = experts_on_host_text(out, model_.config()); !text.empty())
            out.plan.notes.push_back(text);
        int fullest = -1;
        double most = 0;
        for (std::size_t r = 0; r < out.plan.ranks.size(); ++r) {
            const RankPlan& rank = out.plan.ranks[r];
            if (rank.gpu_memory_bytes == 0) continue;
            const double share =
                static_cast<double>(rank.gpu_memory_bytes) / static_cast<double>(candidates_[r].memory_bytes);
            if (share <= most) continue;
            most = share;
            fullest = static_cast<int>(r);
        }
        if (fullest < 0) return;
        const auto at = static_cast<std::size_t>(fullest);
        const RankPlan& rank = out.plan.ranks[at];
        out.plan.notes.push_back(fmt::format(
            "the fullest GPU is that of rank {}: {} of {}, {} of them for CUDA", fullest,
            bytes(rank.gpu_memory_bytes), bytes(candidates_[at].memory_bytes), bytes(cuda_bytes_of_gpu)));
    }

    void estimate_speed(ReplicaPlan& out) const {
        const ReplicaPace pace = estimate_pace(out, weights_);
        if (pace.one_sequence <= 0) return;
        const auto replicas = static_cast<double>(out.plan.teams.teams.size());
        double rate = pace.all_sequences;  // of a replica
        if (points_ > 0) {
            const double units = out.plan.workload.units_per_point;
            const double each = static_cast<double>(points_) / replicas;
            out.plan.seconds = pace.seconds(each, request_.sequences, request_.prompt_tokens,
                                            units - request_.prompt_tokens);
            rate = each * units / out.plan.seconds;
        }
        for (std::size_t r = 0; r < out.plan.ranks.size(); ++r)
            if (out.plan.teams.places[r].replica >= 0) out.plan.ranks[r].units_per_s = rate / ranks_of(out);
        out.plan.formulas.insert(out.plan.formulas.end(), pace.formulas.begin(), pace.formulas.end());
        out.plan.notes.push_back(
            fmt::format("a replica generates about {:.3g} tokens/s with one sequence and {:.3g} with {}; "
                        "rank {} is the slowest",
                        pace.one_sequence, pace.all_sequences, request_.sequences, pace.slowest_rank));
    }

    const ModelSource& model_;
    const ReplicaRequest& request_;
    std::int64_t points_;
    WeightBytes weights_;
    Plan machine_;
    std::vector<TeamCandidate> candidates_;
};

}  // namespace

ReplicaPlan plan_replica(const ModelSource& model, const ReplicaRequest& request, const Topology& topology,
                         const Workload& work) {
    if (request.draft != nullptr) return plan_with_draft(model, request, topology, work);
    return with_host_pages(ReplicaPlanner(model, request, topology, work).plan());
}

}  // namespace voltpile::llm
