#include "llm/session/serve_replicas.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "llm/session/leader_link.h"
#include "run/agreement.h"

namespace voltpile::llm {
namespace {

constexpr std::chrono::seconds time_to_tell{1};  // clients that their requests have failed

// The leader of each replica: its first rank in the order of the world.
std::vector<int> leaders_of(const TeamPlan& teams) {
    std::vector<int> leaders;
    for (const Team& team : teams.teams) {
        int first = team.stages.front().front();
        for (const std::vector<int>& stage : team.stages) first = std::min(first, std::ranges::min(stage));
        leaders.push_back(first);
    }
    return leaders;
}

class Serving {
  public:
    Serving(const MpiSession& mpi, const LanguageModel& model, const ReplicaPlan& plan,
            const std::function<void(SharedQueue&)>& serve)
        : mpi_(mpi), serve_(serve) {
        settings_.requests.scheduler.context = plan.request.context;
        settings_.requests.scheduler.pages = plan.pages;
        settings_.requests.vocabulary = model.config().vocab;
        std::vector<int> leaders = leaders_of(plan.plan.teams);
        std::vector<int> members = leaders;  // of the link
        if (std::ranges::find(members, 0) == members.end()) members.push_back(0);
        std::ranges::sort(members);
        for (const int leader : leaders)
            settings_.leaders.push_back(
                static_cast<int>(std::ranges::find(members, leader) - members.begin()));
        const bool member = std::ranges::find(members, mpi.world().rank()) != members.end();
        link_.emplace(mpi.world().split(member ? 0 : 1));
        link_->set_own_thread();
    }

    // On the leader of a replica.
    void lead(Engine& engine) {
        if (mpi_.world().rank() == 0) return take_requests(&engine);
        LeaderLink link(*link_, engine);
        try {
            answer(engine);
        } catch (...) {
            link.finish();
            std::this_thread::sleep_for(time_to_tell);
            throw;
        }
        link.finish();
    }

    // On rank 0. engine: of the replica that it leads; nullptr if it leads none.
    void take_requests(Engine* engine) {
        settings_.engine = engine;
        SharedQueue queue(*link_, settings_);
        std::exception_ptr failure;
        std::jthread server([&] {
            try {
                serve_(queue);
            } catch (...) {
                failure = std::current_exception();
            }
            queue.close();
        });
        try {
            if (engine != nullptr) answer(*engine);
        } catch (const std::exception& error) {
            std::this_thread::sleep_for(time_to_tell);
            end_all_ranks(mpi_, error);  // the server does not know
        }
        server.join();
        queue.finish();
        if (!failure) return;
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& error) {
            throw LeaderError(exit_code_of(error), error.what());
        }
    }

  private:
    static void answer(Engine& engine) {
        while (engine.wait()) engine.step();
    }

    const MpiSession& mpi_;
    const std::function<void(SharedQueue&)>& serve_;
    SharedQueueSettings settings_;
    std::optional<Communicator> link_;  // rank 0 of the world and the leaders; of no use to other ranks
};

}  // namespace

void serve_replicas(const MpiSession& mpi, const LanguageModel& model, ReplicaPlan plan,
                    const std::function<void(SharedQueue&)>& serve) {
    Serving serving(mpi, model, plan, serve);
    with_session(
        mpi, model, std::move(plan),
        [&](Session& session) {
            session.answer({.many = true}, [&](Engine& engine) { serving.lead(engine); });
        },
        [&] {
            if (mpi.world().rank() == 0) serving.take_requests(nullptr);
        });
}

}  // namespace voltpile::llm
