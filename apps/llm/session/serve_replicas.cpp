#include "llm/session/serve_replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "llm/session/leader_link.h"
#include "llm/session/replica_failure.h"
#include "run/agreement.h"
#include "run/watchdog.h"

namespace voltpile::llm {
namespace {

// By replica.
std::vector<int> leaders_of(const TeamPlan& teams) {
    std::vector<int> leaders;
    for (const Team& team : teams.teams) leaders.push_back(leader_of(team));
    return leaders;
}

class Serving {
  public:
    Serving(const MpiSession& mpi, const LanguageModel& model, const ReplicaPlan& plan,
            const WatchdogDeadlines& deadlines, const std::function<void(SharedQueue&)>& serve)
        : mpi_(mpi), serve_(serve), teams_(plan.plan.teams) {
        for (const RankPlan& rank : plan.plan.ranks) hosts_.push_back(plan.plan.host_of(rank).name);
        settings_.requests.scheduler.context = plan.request.context;
        settings_.requests.scheduler.pages = plan.pages;
        settings_.requests.adapters = model.adapter_names();
        settings_.requests.vocabulary = model.config().vocab;
        const std::vector<int> leaders = leaders_of(plan.plan.teams);
        std::vector<int> members = leaders;  // of the link
        if (std::ranges::find(members, 0) == members.end()) members.push_back(0);
        std::ranges::sort(members);
        for (const int leader : leaders) {
            const auto member = std::ranges::find(members, leader) - members.begin();
            settings_.leaders.push_back({static_cast<int>(member), name_of(leader)});
        }
        const bool member = std::ranges::find(members, mpi.world().rank()) != members.end();
        link_.emplace(mpi.world().split(member ? 0 : 1));
        link_->set_own_thread();
        watchdog_.emplace(mpi, plan.plan, deadlines,
                          [this](const HungRank& hung, const std::string& text) { lose(hung.rank, text); });
    }

    // On every rank of a replica.
    void take_part(Session& session) {
        Replica& replica = session.replica();
        try {
            session.answer({.many = true}, [&](Engine& engine) { lead(replica, engine); });
        } catch (const AgreedError&) {
            throw;
        } catch (const LeaderError&) {
            throw;
        } catch (const std::exception& error) {
            if (!replica.leads()) return report_failure(replica, error);
            if (reported_) return;
            const ReplicaFailure failure = find_failure(replica, error);
            throw Error(failure.exit_code, failure.why);
        }
    }

    // On rank 0. replica, engine: what it leads; nullptr if it leads none.
    void take_requests(Replica* replica, Engine* engine) {
        settings_.engine = engine;
        SharedQueue queue(*link_, settings_);
        const QueueForWatch known(*this, queue);
        std::exception_ptr failure;
        std::jthread server([&] {
            try {
                serve_(queue);
            } catch (const std::exception& error) {
                if (queue.lost_any()) end_all_ranks(mpi_, error);
                failure = std::current_exception();
            }
            queue.close();
            // Not on the thread of the engine, which may still wait for a lost rank.
            if (!queue.lost_any()) return;
            queue.finish();
            mpi_.abort(static_cast<int>(ExitCode::Stopped));
        });
        try {
            if (engine != nullptr) answer(*engine);
        } catch (const std::exception& error) {
            const auto mine = std::ranges::find(settings_.leaders, 0, &SharedQueueSettings::Leader::rank);
            queue.lose(static_cast<int>(mine - settings_.leaders.begin()), find_failure(*replica, error));
        }
        server.join();
        queue.finish();
        if (queue.lost_any()) mpi_.abort(static_cast<int>(ExitCode::Stopped));
        if (!failure) return;
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& error) {
            throw LeaderError(exit_code_of(error), error.what());
        }
    }

  private:
    // On the leader of a replica.
    void lead(Replica& replica, Engine& engine) {
        if (mpi_.world().rank() == 0) return take_requests(&replica, &engine);
        LeaderLink link(*link_, engine);
        try {
            answer(engine);
        } catch (const std::exception& error) {
            link.finish(find_failure(replica, error));
            reported_ = true;
            throw;
        }
        link.finish();
    }

    std::string name_of(int rank) const {
        return fmt::format("rank {} on {}", rank, hosts_[static_cast<std::size_t>(rank)]);
    }

    // While it exists, a rank that is lost takes its replica with it; otherwise all ranks end.
    class QueueForWatch {
      public:
        QueueForWatch(Serving& serving, SharedQueue& queue) : serving_(serving) { set(&queue); }
        ~QueueForWatch() { set(nullptr); }
        QueueForWatch(const QueueForWatch&) = delete;
        QueueForWatch& operator=(const QueueForWatch&) = delete;

      private:
        void set(SharedQueue* queue) {
            const std::lock_guard lock(serving_.queue_mutex_);
            serving_.queue_ = queue;
        }
        Serving& serving_;
    };

    // On the thread of the watchdog.
    void lose(int rank, const std::string& text) {
        const CommError error(text);
        const std::lock_guard lock(queue_mutex_);
        if (queue_ == nullptr) end_all_ranks(mpi_, error);
        const int replica = teams_.replica_of(rank);
        if (replica >= 0) queue_->lose(replica, {ExitCode::Failed, error.what()});
    }

    static void answer(Engine& engine) {
        while (engine.wait()) engine.step();
    }

    const MpiSession& mpi_;
    const std::function<void(SharedQueue&)>& serve_;
    SharedQueueSettings settings_;
    std::optional<Communicator> link_;  // rank 0 of the world and the leaders; of no use to other ranks
    bool reported_ = false;             // rank 0 knows that the replica which this rank leads has failed
    std::vector<std::string> hosts_;    // by rank
    const TeamPlan teams_;
    std::mutex queue_mutex_;
    SharedQueue* queue_ = nullptr;  // on rank 0, while it takes requests
    std::optional<Watchdog> watchdog_;
};

}  // namespace

void serve_replicas(const MpiSession& mpi, const LanguageModel& model, ReplicaPlan plan,
                    const WatchdogDeadlines& deadlines, const std::function<void(SharedQueue&)>& serve) {
    Serving serving(mpi, model, plan, deadlines, serve);
    with_session(
        mpi, model, std::move(plan), [&](Session& session) { serving.take_part(session); },
        [&] {
            if (mpi.world().rank() == 0) serving.take_requests(nullptr, nullptr);
        });
}

}  // namespace voltpile::llm
