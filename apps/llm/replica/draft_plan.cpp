#include "llm/replica/draft_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/format.h"
#include "llm/model/tensor_parallel.h"

namespace voltpile::llm {
namespace {

// The part of the cache's tokens that fits if each token also takes the draft's bytes.
double share_of_tokens(const ReplicaPlan& model, const ReplicaPlan& draft) {
    double least = 1;
    for (std::size_t s = 0; s < model.stages.size(); ++s) {
        const auto own = static_cast<double>(model.stages[s].kv_per_token);
        least = std::min(least, own / (own + static_cast<double>(draft.stages[s].kv_per_token)));
    }
    return least;
}

class DraftPlanner {
  public:
    DraftPlanner(const ModelSource& model, const ReplicaRequest& request, const Topology& topology,
                 const Workload& work)
        : model_(model), draft_(*request.draft), request_(request), topology_(topology), work_(work) {
        request_.draft = nullptr;
        const auto& prediction = draft_.config().prediction;
        request_.embeds_last = prediction && std::ranges::find(prediction->own_embedding, false) !=
                                                 prediction->own_embedding.end();
    }

    ReplicaPlan plan() {
        if (request_.draft_ranks > 0) return on_own_ranks();
        ReplicaPlan alone = plan_replica(model_, request_, topology_, work_);
        if (const auto obstacle = tensor_parallel_obstacle(draft_, alone.plan.teams.tensor);
            !obstacle.empty()) {
            const int suits = widest_for_both(alone.plan.teams.tensor);
            if (request_.tensor > 0)
                throw JobError(
                    fmt::format("{}: tensor parallelism over {} ranks: {}; --tensor {} suits both models",
                                guesser(), request_.tensor, obstacle, suits));
            request_.tensor = suits;
            alone = plan_replica(model_, request_, topology_, work_);
        }
        const TeamPlan& teams = alone.plan.teams;
        const auto ranks = std::ssize(topology_.ranks) / teams.tensor;
        const auto layers =
            predicts() ? model_.config().layers : std::min(model_.config().layers, draft_.config().layers);
        if (teams.pipeline > layers)
            throw JobError(fmt::format("the draft model has {} layers, too few for {} pipeline stages",
                                       draft_.config().layers, teams.pipeline));
        const auto most = request_.pipeline > 0
                              ? std::ptrdiff_t{request_.pipeline}
                              : std::max<std::ptrdiff_t>(std::min(layers, ranks), teams.pipeline);
        request_.tensor = teams.tensor;
        std::optional<MachineError> why;
        for (int stages = teams.pipeline; stages <= most; ++stages) {
            request_.pipeline = stages;
            try {
                return with_both();
            } catch (const MachineError& error) {
                if (!why) why.emplace(fmt::format("with {} in memory, {}", guesser(), error.what()));
            }
        }
        throw MachineError(*why);
    }

  private:
    bool predicts() const { return draft_.config().prediction.has_value(); }
    std::string guesser() const {
        const std::string_view guesser = guesser_of(request_.speculate);
        return fmt::format("the {}", guesser.substr(guesser.find(' ') + 1));
    }

    int widest_for_both(int below) const {
        int width = below - 1;
        while (width > 1 && !(tensor_parallel_obstacle(draft_, width).empty() &&
                              tensor_parallel_obstacle(model_, width).empty()))
            --width;
        return width;
    }

    ReplicaRequest draft_request() const {
        ReplicaRequest draft = request_;
        draft.context = static_cast<int>(std::min<std::int64_t>(request_.context, draft_.config().context));
        draft.rows = request_.draft_rows();
        draft.logits = request_.sequences;
        draft.speculate = Speculate::Draft;  // which has rows for guesses too, but no hidden rows
        draft.read_layers.clear();
        draft.embeds_last = false;
        draft.context_parallel = false;
        draft.batch_invariant = false;
        draft.copies = false;  // it reads few rows at once
        draft.host_cache_tokens = 0;
        draft.experts_on_host = 0;
        draft.shrinks = true;
        draft.prompt_tokens = 0;
        return draft;
    }

    ReplicaPlan on_own_ranks() {
        const auto ranks = static_cast<int>(topology_.ranks.size());
        const int own = request_.draft_ranks;
        if (request_.speculate != Speculate::Draft)
            throw JobError(
                fmt::format("--draft-ranks {}: {} needs the model's hidden states, and shares its ranks", own,
                            guesser()));
        if (request_.replicas > 1)
            throw JobError(fmt::format("--draft-ranks {} goes with one copy of the model, not with {}", own,
                                       request_.replicas));
        if (own >= ranks)
            throw MachineError(fmt::format("--draft-ranks {} of {} rank{}: none is left for the model", own,
                                           ranks, ranks == 1 ? "" : "s"));
        request_.replicas = 1;
        ReplicaRequest draft = draft_request();
        draft.first_rank = ranks - own;
        draft.tensor = draft.pipeline = 0;
        draft.cache_tokens = std::int64_t{draft.pages_per_sequence()} * kv_page_tokens;
        // First with the smallest cache of the draft, to learn what both may take of a host's memory.
        request_.taken_of_hosts = host_bytes(planned_alone(draft));
        request_.end_rank = ranks - own;
        ReplicaPlan all = plan_replica(model_, request_, topology_, work_);
        draft.taken_of_hosts = host_bytes(all);
        draft.cache_tokens = std::max(draft.cache_tokens, std::int64_t{all.pages} * kv_page_tokens);
        ReplicaPlan guesses = planned_alone(draft);
        const TeamPlan& teams = guesses.plan.teams;
        for (int rank = 0; rank < ranks; ++rank)
            if (teams.replica_of(rank) >= 0) all.plan.teams.helpers.push_back(rank);
        all.plan.notes.push_back(fmt::format(
            "{} has rank{} {} for itself: {} pipeline stage{} of {} tensor-parallel rank{}, a cache of {} "
            "tokens",
            guesser(), all.plan.teams.helpers.size() == 1 ? "" : "s", fmt::join(all.plan.teams.helpers, ", "),
            teams.pipeline, teams.pipeline == 1 ? "" : "s", teams.tensor, teams.tensor == 1 ? "" : "s",
            count_text(std::int64_t{guesses.pages} * kv_page_tokens)));
        all.plan.warnings.insert(all.plan.warnings.end(), teams.notes.begin(), teams.notes.end());
        return together(std::move(all), std::move(guesses));
    }

    // Returns the bytes of each host's memory that the ranks of a plan's teams take.
    static std::vector<std::uint64_t> host_bytes(const ReplicaPlan& plan) {
        std::vector<std::uint64_t> bytes(plan.plan.topology.hosts.size());
        for (std::size_t r = 0; r < plan.plan.ranks.size(); ++r)
            if (plan.plan.teams.places[r].replica >= 0)
                bytes[static_cast<std::size_t>(plan.plan.ranks[r].host)] +=
                    static_cast<std::uint64_t>(plan.plan.ranks[r].memory_bytes);
        return bytes;
    }

    ReplicaPlan planned_alone(const ReplicaRequest& draft) const {
        try {
            return plan_replica(draft_, draft, topology_);
        } catch (const MachineError& error) {
            throw MachineError(fmt::format("{} on ranks of its own: {}", guesser(), error.what()));
        }
    }

    ReplicaPlan with_both() {
        // First with the smallest cache of the draft, to learn how many tokens there is room for.
        ReplicaRequest draft = draft_request();
        draft.cache_tokens = std::int64_t{draft.pages_per_sequence()} * kv_page_tokens;
        ReplicaPlan guesses = plan_replica(draft_, draft, topology_);
        ReplicaPlan all = beside(guesses);
        const auto tokens = static_cast<double>(std::int64_t{all.pages} * kv_page_tokens);
        const bool room_for_all = all.pages == request_.pages();
        const double share = room_for_all ? 1 : share_of_tokens(all, guesses);
        draft.cache_tokens = std::max(draft.cache_tokens, static_cast<std::int64_t>(share * tokens));
        guesses = plan_replica(draft_, draft, topology_);
        all = beside(guesses);
        if (all.plan.teams.teams.size() != guesses.plan.teams.teams.size())
            throw MachineError(fmt::format("{} copies of the model and {} of {} fit",
                                           all.plan.teams.teams.size(), guesses.plan.teams.teams.size(),
                                           guesser()));
        all.plan.notes.push_back(fmt::format("beside {} with a cache of {} tokens", guesser(),
                                             count_text(std::int64_t{guesses.pages} * kv_page_tokens)));
        return together(std::move(all), std::move(guesses));
    }

    ReplicaPlan together(ReplicaPlan all, ReplicaPlan guesses) const {
        add_memory(all, guesses);
        all.request.draft = &draft_;
        all.draft = std::make_shared<const ReplicaPlan>(std::move(guesses));
        return all;
    }

    // Plans the model in the room that the draft leaves.
    ReplicaPlan beside(const ReplicaPlan& draft) const {
        ReplicaRequest request = request_;
        request.taken = draft.takes;
        return plan_replica(model_, request, topology_, work_);
    }

    static void add_memory(ReplicaPlan& all, const ReplicaPlan& draft) {
        for (std::size_t r = 0; r < all.plan.ranks.size(); ++r) {
            const TeamPlace& place = draft.plan.teams.places[r];
            if (place.replica < 0) continue;
            RankPlan& rank = all.plan.ranks[r];
            if (all.plan.teams.places[r].replica < 0) {  // the draft's alone
                rank.gpu_memory_bytes = draft.plan.ranks[r].gpu_memory_bytes;
                rank.memory_bytes = draft.plan.ranks[r].memory_bytes;
                rank.units_per_s = 0;
                continue;
            }
            const auto bytes = static_cast<std::int64_t>(draft.takes[static_cast<std::size_t>(place.stage)]);
            (rank.gpu >= 0 ? rank.gpu_memory_bytes : rank.memory_bytes) += bytes;
        }
    }

    const ModelSource& model_;
    const ModelSource& draft_;
    ReplicaRequest request_;  // of the model, without the draft
    const Topology& topology_;
    const Workload& work_;
};

}  // namespace

ReplicaPlan plan_with_draft(const ModelSource& model, const ReplicaRequest& request, const Topology& topology,
                            const Workload& work) {
    return DraftPlanner(model, request, topology, work).plan();
}

}  // namespace voltpile::llm
