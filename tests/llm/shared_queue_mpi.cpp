// Replicas that fail while others go on: SharedQueue and LeaderLink with engines that have no model, one on
// each rank. Runs under mpirun on 1 to 3 ranks (tests/CMakeLists.txt).
#include "llm/session/shared_queue.h"

#include <fmt/format.h>

#include <future>
#include <numeric>

#include "llm/session/leader_link.h"
#include "llm/session/replica_choice.h"
#include "told_executor.h"
#include "unit/comm/mpi_tests.h"

using namespace voltpile;
using namespace voltpile::llm;
using test::world;

namespace {

constexpr std::uint64_t poison = 666;  // the pass of a sequence with this seed fails

class FragileExecutor final : public PassExecutor {
  public:
    int lanes() const override { return told_.lanes(); }
    bool feeds() const override { return told_.feeds(); }
    void enqueue(const PlannedPass& pass) override {
        for (const Draw& draw : pass.draws)
            if (draw.settings->seed == poison) throw DeviceError("the GPU is lost");
        told_.enqueue(pass);
    }
    std::vector<DrawnToken> collect() override {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // as if it computed
        return told_.collect();
    }
    std::vector<TopTokens> top() override { return told_.top(); }

  private:
    ToldExecutor told_;
};

EngineSettings engine_settings() {
    EngineSettings settings;
    settings.scheduler.limits = {64, 8, pages_for(1 << 16), 8};
    settings.scheduler.pages = 3 * pages_for(1 << 16);
    settings.scheduler.context = 1 << 16;
    settings.scheduler.sequences = 8;
    settings.vocabulary = 1 << 20;
    return settings;
}

void answer(Engine& engine) {
    while (engine.wait()) engine.step();
}

// Calls `serve` on rank 0 with a queue of one replica for each rank. until_reason: how long it takes after a
// failure until its reason is known, as with several ranks of a replica.
void with_queue(const std::function<void(SharedQueue&)>& serve, std::chrono::milliseconds until_reason = {}) {
    Communicator link = world().split(0);
    link.set_own_thread();
    FragileExecutor executor;
    Engine engine(executor, nullptr, engine_settings());
    if (world().rank() > 0) {
        LeaderLink leader(link, engine);
        try {
            answer(engine);
        } catch (const Error& error) {
            std::this_thread::sleep_for(until_reason);
            return leader.finish(
                ReplicaFailure{error.exit_code(), fmt::format("rank {}: {}", world().rank(), error.what())});
        }
        return leader.finish();
    }
    SharedQueueSettings settings;
    for (int rank = 0; rank < world().size(); ++rank)
        settings.leaders.push_back({rank, fmt::format("rank {}", rank)});
    settings.engine = &engine;
    settings.requests = engine_settings();
    settings.text = false;
    SharedQueue queue(link, settings);
    std::jthread server([&] {
        serve(queue);
        queue.close();
    });
    try {
        answer(engine);
    } catch (const Error& error) {
        std::this_thread::sleep_for(until_reason);
        queue.lose(0, {error.exit_code(), fmt::format("rank 0: {}", error.what())});
    }
    server.join();
    queue.finish();
}

// A request whose prompt has pages that no prompt with another `text` has.
Request request_of(std::int64_t id, int text, int max_tokens) {
    Request request;
    request.id = id;
    request.prompt.resize(2 * kv_page_tokens + 1);
    std::iota(request.prompt.begin(), request.prompt.end(), 1000 * (text + 1));
    request.max_tokens = max_tokens;
    request.sampling.seed = static_cast<std::uint64_t>(id);
    return request;
}

struct Running {
    std::promise<void> begun;
    std::promise<Outcome> ended;
    bool first = true;

    void submit(SharedQueue& queue, const Request& request) {
        queue.submit(
            request,
            [this](const Delta&) {
                if (std::exchange(first, false)) begun.set_value();
                return true;
            },
            [this](Outcome outcome) { ended.set_value(std::move(outcome)); });
    }
};

Outcome outcome_of(SharedQueue& queue, const Request& request) {
    std::promise<Outcome> promise;
    queue.submit(request, {}, [&](Outcome outcome) { promise.set_value(std::move(outcome)); });
    return promise.get_future().get();
}

TEST(SharedQueue, OneReplicaFailsAndTheOthersGoOn) {
    for (int broken = 0; broken < world().size(); ++broken)
        with_queue([&](SharedQueue& queue) {
            const auto replicas = static_cast<std::size_t>(world().size());
            std::vector<Running> running(replicas);  // one on each, as loads are equal
            for (std::size_t i = 0; i < replicas; ++i)
                running[i].submit(queue,
                                  request_of(static_cast<std::int64_t>(i), static_cast<int>(i), 60'000));
            for (Running& each : running) each.begun.get_future().wait();

            Request bad = request_of(100, broken, 10);  // goes where that prompt's pages are
            bad.sampling.seed = poison;
            const Outcome failed = outcome_of(queue, bad);
            EXPECT_EQ(failed.finish, Finish::Failed);
            EXPECT_EQ(failed.error, fmt::format("rank {}: the GPU is lost", broken));
            EXPECT_TRUE(queue.lost_any());  // by the time a client hears of it
            const auto lost = static_cast<std::size_t>(broken);
            EXPECT_EQ(running[lost].ended.get_future().get().finish, Finish::Failed);
            EXPECT_EQ(queue.no_replica_left().has_value(), replicas == 1);
            if (replicas == 1) {
                EXPECT_EQ(queue.no_replica_left()->why, "rank 0: the GPU is lost");
                EXPECT_THROW(queue.submit(request_of(200, 0, 4)), QueueClosed);
            }
            for (std::size_t i = 0; i < replicas; ++i) EXPECT_EQ(queue.replicas()[i].works, i != lost);
            for (int i = 0; replicas > 1 && i < 8; ++i)  // even if the lost one had the prompt
                EXPECT_EQ(outcome_of(queue, request_of(200 + i, broken, 4)).finish, Finish::Length);
            for (std::size_t i = 0; i < replicas; ++i) {
                if (i == lost) continue;
                queue.cancel(static_cast<std::int64_t>(i));
                EXPECT_EQ(running[i].ended.get_future().get().finish, Finish::Cancelled);
            }
            while (!queue.idle()) std::this_thread::yield();
            // Counters of other ranks follow within a tenth of a second.
            while (queue.counters().scheduler.running > 0) std::this_thread::yield();
        });
}

// Its prompt's pages are where the engine has failed. A request that comes before the queue hears of that
// waits there for the reason.
TEST(SharedQueue, RequestsAvoidAReplicaBeforeTheReasonOfItsFailureIsKnown) {
    if (world().size() == 1) GTEST_SKIP();
    for (const int broken : {0, world().size() - 1})
        with_queue(
            [&](SharedQueue& queue) {
                for (int i = 0; i < world().size(); ++i)  // one on each
                    EXPECT_EQ(outcome_of(queue, request_of(i, i, 4)).finish, Finish::Length);
                std::vector<Running> stuck(ReplicaChoice::slack);
                Request bad = request_of(100, broken, 10);
                bad.sampling.seed = poison;
                stuck[0].submit(queue, bad);
                bool answered = false;
                // More of them would leave the replica because of its load.
                for (std::size_t i = 1; !answered && i < stuck.size(); ++i) {
                    stuck[i].submit(queue, request_of(200 + static_cast<std::int64_t>(i), broken, 4));
                    auto ended = stuck[i].ended.get_future();
                    answered = ended.wait_for(std::chrono::milliseconds(500)) == std::future_status::ready &&
                               ended.get().finish == Finish::Length;
                }
                EXPECT_FALSE(queue.lost_any());
                EXPECT_TRUE(answered);
                const Outcome failed = stuck[0].ended.get_future().get();
                EXPECT_EQ(failed.error, fmt::format("rank {}: the GPU is lost", broken));
                while (!queue.idle()) std::this_thread::yield();
            },
            std::chrono::seconds(8));
}

TEST(SharedQueue, LoseAllEndsEveryRequestAtOnce) {
    if (world().size() > 1) GTEST_SKIP();  // other ranks would wait for orders that no longer come
    with_queue([&](SharedQueue& queue) {
        std::vector<Running> running(6);
        for (std::size_t i = 0; i < running.size(); ++i)
            running[i].submit(queue, request_of(static_cast<std::int64_t>(i), static_cast<int>(i), 60'000));
        for (Running& each : running) each.begun.get_future().wait();
        for (std::size_t i = 0; i < running.size(); ++i)  // so that the engines end
            queue.cancel(static_cast<std::int64_t>(i));
        queue.close();
        queue.lose_all({ExitCode::Failed, "the launcher ends the job"});
        for (Running& each : running) {
            const Outcome outcome = each.ended.get_future().get();
            EXPECT_TRUE(outcome.finish == Finish::Cancelled || outcome.error == "the launcher ends the job");
        }
        EXPECT_TRUE(queue.idle());
        EXPECT_EQ(queue.no_replica_left()->why, "the launcher ends the job");
    });
}

TEST(SharedQueue, AReplicaThatFallsSilentIsLost) {
    if (world().size() != 2) GTEST_SKIP();
    Communicator link = world().split(0);
    link.set_own_thread();
    if (world().rank() == 1) {
        FragileExecutor executor;
        Engine engine(executor, nullptr, engine_settings());
        LeaderLink leader(link, engine);
        std::this_thread::sleep_for(std::chrono::seconds(2));  // at least one report
        return;                                                // and no more, as if the rank were stopped
    }
    SharedQueueSettings settings;
    settings.leaders = {{1, "rank 1 on node2"}};
    settings.requests = engine_settings();
    settings.text = false;
    settings.silence = std::chrono::milliseconds(1500);
    SharedQueue queue(link, settings);
    while (!queue.lost_any()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(queue.no_replica_left()->why, "rank 1 on node2 has been silent for 1.5 s");
    queue.finish();
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_mpi_tests(argc, argv);
}
