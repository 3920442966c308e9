#include "llm/replica/replica.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "base/phase.h"
#include "base/seconds_since.h"
#include "device/device.h"
#include "device/memory.h"
#include "llm/model/kv_element_names.h"
#include "llm/replica/draft_link.h"
#include "llm/replica/first_collectives.h"
#include "llm/replica/load_progress.h"
#include "llm/replica/rank_ops.h"
#include "llm/replica/replica_passes.h"
#include "llm/replica/same_model.h"
#include "run/agreement.h"
#include "run/discover_topology.h"

namespace voltpile::llm {
namespace {

constexpr int draw_channel = 1;
constexpr std::chrono::seconds watch_interval{1};
// A rank on cores may be slow, or share its core with other programs, without being lost.
constexpr std::chrono::minutes host_deadline{5};

TeamOptions team_options(const RankPlan& rank) {
    TeamOptions options;
    if (rank.device >= 0) {
        options.channels.patience = gpu_patience;
        return options;
    }
    options.collectives.deadline_s = std::chrono::duration<double>(host_deadline).count();
    options.channels.deadline = host_deadline;
    return options;
}

}  // namespace

ReplicaPlan agreed_plan(const MpiSession& session, const ModelSource& model, const ReplicaRequest& request) {
    check_same_model(session.world(), model);
    if (request.draft != nullptr) check_same_model(session.world(), *request.draft);
    const Topology topology = discover_topology(session.world());
    return agreed([&] { return plan_replica(model, request, topology); });
}

Replica::Replica(const MpiSession& session, const ModelSource& model, ReplicaPlan plan,
                 const Replica* model_of_prediction)
    : session_(session), plan_(std::move(plan)) {
    const Communicator& world = session.world();
    const RankPlan& mine = plan_.plan.ranks[static_cast<std::size_t>(world.rank())];
    bind_to_cores(plan_.plan, world.rank());  // first, because threads that the teams start inherit it
    all_do(world, [&] { teams_ = std::make_unique<TeamContext>(world, plan_.plan, team_options(mine)); });
    all_do(world, [&] {
        if (!idle() && !stage().empty()) load(model, model_of_prediction);
    });
    if (!idle() && mine.device >= 0 && teams_->tensor().size() > 1)
        watchdog_ =
            std::jthread([this, device = mine.device](const std::stop_token& stop) { watch(stop, device); });
    if (!plan_.draft) return;
    if (plan_.request.draft_ranks > 0) all_do(world, [&] { link_leaders(); });
    ReplicaPlan draft = *plan_.draft;
    draft.duty = plan_.duty;
    draft_ = std::make_unique<Replica>(session, *plan_.request.draft, std::move(draft),
                                       reads_hidden_states(plan_.request.speculate) ? this : nullptr);
    if (plan_.request.speculate == Speculate::Eagle && !idle() && decoder_->last_stage())
        decoder_->fuse_with(draft_->decoder());
}

bool Replica::helps() const {
    return std::ranges::find(plan_.plan.teams.helpers, world_rank()) != plan_.plan.teams.helpers.end();
}

void Replica::link_leaders() {
    const auto leads_team_of = [&](const ReplicaPlan& plan) {
        return world_rank() == leader_of(plan.plan.teams.teams.front());
    };
    const bool leads_one = leads_team_of(plan_) || leads_team_of(*plan_.draft);
    Communicator link = session_.world().split(leads_one ? 0 : 1);
    if (leads_one) draft_link_.emplace(std::move(link));
}

void Replica::begin_after(const Replica& other) {
    if (stream_ == nullptr || other.stream_ == nullptr) return;
    if (!order_) order_ = std::make_unique<StreamOrder>();
    order_->put(*other.stream_, *stream_);
}

void Replica::watch(const std::stop_token& stop, int device) const {
    std::mutex mutex;
    std::condition_variable_any woken;
    std::unique_lock lock(mutex);
    // While the GPU works on passes of the group, this thread stands for it before the job's watchdog.
    std::unique_ptr<InPhase> collective;
    WatchedWork before;
    try {
        use_device(device);  // otherwise querying an event would create a context on the first GPU
        while (!stop.stop_requested()) {
            teams_->check();
            const WatchedWork work = teams_->tensor().watched();
            if (!work.under_way)
                collective.reset();
            else if (!collective)
                collective = std::make_unique<InPhase>(Phase::Collective);
            else if (work.finished != before.finished)
                count_step(Phase::Collective);
            before = work;
            woken.wait_for(lock, stop, watch_interval, [] { return false; });
        }
    } catch (const Error&) {
        // The streams are free again, and the thread that waits for them calls check() itself.
    }
}

Replica::~Replica() = default;

void Replica::load(const ModelSource& model, const Replica* model_of_prediction) {
    const InPhase loading(Phase::Load);
    const RankPlan& mine = plan_.plan.ranks[static_cast<std::size_t>(session_.world().rank())];
    if (mine.device >= 0) {
        use_device(mine.device);
        if (teams_->tensor().size() > 1) do_first_collectives(*teams_, model.config(), plan_);
        gpu_bytes_before_ = device_bytes_in_use();
    }
    auto area = share_area(model.config());  // collective: before anything that may fail on one rank alone
    RankOps made = make_rank_ops(plan_.plan, session_.world().rank(), stage(), plan_.request);
    ops_ = std::move(made.ops);
    stream_ = made.stream;
    links_ = std::make_unique<TeamLinks>(
        *teams_, *ops_, made.stream, plan_.request.rows, model.config().hidden,
        std::ssize(plan_.request.read_layers) * model.config().hidden, std::move(area));
    LoadProgress progress(stage().stored + stage().stored_whole_layers, leads());
    DecoderSettings settings;
    settings.rank = teams_->place().tensor_rank;
    settings.ranks = plan_.plan.teams.tensor;
    settings.layer_begin = stage().layer_begin;
    settings.layer_end = stage().layer_end;
    settings.pages = plan_.pages;
    settings.host_pages = plan_.host_pages;
    settings.cache = plan_.request.cache;
    settings.clamp = plan_.request.clamp;
    settings.batch_invariant = plan_.request.batch_invariant;
    settings.experts_on_host = plan_.experts_on_host;
    settings.streamed_rows = plan_.streamed_rows;
    settings.rows_to_cut = plan_.rows_to_cut;
    settings.limits = plan_.request.limits();
    settings.prediction_rows = plan_.request.prediction_rows();
    settings.embeds_last = plan_.request.embeds_last;
    settings.read_layers = plan_.request.read_layers;
    if (model_of_prediction != nullptr) settings.predicts_for = model_of_prediction->decoder_.get();
    settings.loaded = [&](std::uint64_t bytes) {
        count_step(Phase::Load);
        progress.add(bytes);
        loaded_bytes_ += bytes;
    };
    timed_ops_ = std::make_unique<TimedOps>(*ops_);
    timed_links_ = std::make_unique<TimedLinks>(*links_, *timed_ops_);
    const auto begin = std::chrono::steady_clock::now();
    DecoderLinks& links = settings.ranks > 1 ? static_cast<DecoderLinks&>(*timed_links_) : *links_;
    decoder_ = std::make_unique<Decoder>(model, *timed_ops_, links, settings);
    load_s_ = seconds_since(begin);
    runner_ = std::make_unique<PassRunner>(*decoder_, *timed_ops_, settings.limits);
    if (plan_.duty && stream_) rests_ = std::make_unique<PassRests>(*plan_.duty, *stream_);
    if (teams_->stages() > 1 && teams_->last_stage() && settings.rank == 0)
        forwarder_ = std::make_unique<DrawForwarder>(teams_->to_stage(0, draw_channel), mine.device);
    if (mine.device >= 0) gpu_bytes_loaded_ = device_bytes_in_use();
}

// Returns null where sums and norms stay apart.
std::unique_ptr<PeerArea> Replica::share_area(const ModelConfig& config) {
    StreamCommunicator& group = teams_->tensor();
    if (group.size() == 1 || config.blocks.output_norms || !joint_sums_fit(config.hidden)) return nullptr;
    return group.share(joint_area_bytes(group.size(), plan_.request.rows, config.hidden));
}

std::string Replica::describe() const {
    const TeamPlan& teams = plan_.plan.teams;
    std::string text = ops_->describe();
    if (!teams.single()) text += fmt::format("; TP{} x PP{}", teams.tensor, teams.pipeline);
    if (plan_.rows_to_cut > 0) text += "; prompts cut by tokens";
    if (plan_.experts_on_host > 0)
        text += fmt::format("; experts of {} layers in host memory", plan_.experts_on_host);
    if (plan_.request.cache != KvElement::F16) text += fmt::format("; {} cache", name(plan_.request.cache));
    if (plan_.request.clamp) text += "; clamped to fp16";
    if (draft_) text += fmt::format("; with {}", guesser_of(plan_.request.speculate));
    if (const std::size_t own = teams.helpers.size(); own > 0)
        text += fmt::format(" on {} rank{} of its own", own, own == 1 ? "" : "s");
    return text;
}

FloatRows Replica::forward(const Batch& batch) {
    const FloatRows logits = runner_->forward(batch);
    links_->watch();
    return logits;
}

std::span<const float> Replica::host_logits(const Batch& batch) {
    const FloatRows logits = forward(batch);
    const bool here = teams_->last_stage() && teams_->place().tensor_rank == 0;
    host_logits_.resize(here ? static_cast<std::size_t>(logits.rows * logits.columns) : 0);
    if (!host_logits_.empty())
        ops_->download(host_logits_.data(), logits.data, host_logits_.size() * sizeof(float));
    else
        ops_->synchronize();
    links_->check();
    try {
        decoder_->check(batch);
    } catch (const Error& error) {
        if (not_finite_.empty()) not_finite_ = error.what();
    }
    if (!not_finite_.empty()) return {};
    return host_logits_;
}

void Replica::enqueue(const Batch& batch, std::span<const SamplingRow> sampling) {
    if (has_layers()) {
        decoder_->check_host();
        if (rests_) rests_->before_pass();
        runner_->enqueue(batch, sampling);
        if (rests_) rests_->after_pass();
        links_->watch();
    }
    if (forwarder_) forwarder_->push(runner_->send_draws());
    if (!leads()) return;
    if (teams_->stages() == 1) {
        under_way_.push_back(runner_->send_draws());
        return;
    }
    Awaited& next = awaited_.emplace_back();
    next.draws = sampling.size();
    next.top_n = largest_top_n(sampling);
    next.message.resize(Draws::message_bytes(next.draws, next.top_n));
    next.arrived = teams_->to_stage(teams_->stages() - 1, draw_channel)
                       .receive(host_memory(next.message.data(), next.message.size()), nullptr, longest_pass);
}

void Replica::enqueue_logits(const Batch& batch) {
    decoder_->check_host();
    if (rests_) rests_->before_pass();
    runner_->enqueue_logits(batch);
    if (rests_) rests_->after_pass();
    links_->watch();
}

void Replica::draw(std::span<const SamplingRow> sampling) {
    runner_->draw(sampling);
    if (leads()) under_way_.push_back(runner_->send_draws());
}

Draws Replica::collect() {
    Draws draws;
    if (teams_->stages() == 1) {
        draws = under_way_.front().wait();
        under_way_.pop_front();
    } else {
        const Awaited& oldest = awaited_.front();
        oldest.arrived.wait();
        draws = Draws::from_message(oldest.message, oldest.draws, oldest.top_n);
        awaited_.pop_front();
    }
    if (has_layers()) {
        decoder_->check_host();
        links_->check();
    }
    return draws;
}

void with_replica(const MpiSession& session, const ModelSource& model, ReplicaPlan plan,
                  const std::function<void(Replica&)>& body, const std::function<void()>& meanwhile) {
    // When a peer is lost, wait for it or the launcher to report why and to end all ranks.
    constexpr std::chrono::seconds patience{2};
    Replica replica(session, model, std::move(plan));
    if (session.world().rank() == 0)
        for (const std::string& warning : replica.plan().plan.warnings) spdlog::warn("{}", warning);
    std::optional<Error> failure;  // of a whole team, or of a leader that has ended its passes
    try {
        if (replica.helps())
            run_draft(replica);
        else if (!replica.idle())
            body(replica);
        else if (meanwhile)
            meanwhile();
    } catch (const AgreedError& error) {
        failure = error;
    } catch (const LeaderError& error) {
        failure = error;
    } catch (const CommError& error) {
        std::this_thread::sleep_for(patience);
        end_all_ranks(session, error);
    } catch (const std::exception& error) {
        end_all_ranks(session, error);
    }
    end_draft(replica);
    session.world().wait_asleep();
    all_agree(session.world(), [&] {
        if (failure) throw Error(*failure);
        return std::string();
    });
}

}  // namespace voltpile::llm
