// Requests from several threads of rank 0, answered by all replicas of the run. Runs under mpirun on 1 to 4
// ranks (tests/CMakeLists.txt).
#include "llm/session/serve_replicas.h"

#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <regex>

#include "llm/session/replica_choice.h"
#include "run/agreement.h"
#include "unit/comm/mpi_tests.h"

using namespace voltpile;
using namespace voltpile::llm;
using test::session;
using test::world;

namespace {

const std::string folder = VOLTPILE_SOURCE_DIR "/data/tiny_model/";

void serve_over(int tensor, int pipeline, const std::function<void(SharedQueue&)>& serve) {
    const auto model = LanguageModel::open(world(), {.path = folder + "tiny-f16.gguf"});
    ReplicaRequest request;
    request.tensor = tensor;
    request.pipeline = pipeline;
    request.replicas = world().size() / (tensor * pipeline);
    request.device = DeviceChoice::Cpu;
    request.context = 128;
    request.sequences = request.logits = 6;
    request.cache_tokens = 300;
    request.rows = 40;
    serve_replicas(session(), *model, agreed_plan(session(), model->source(), request), {}, serve);
}

// All ways to cut the ranks into replicas of 1 to 2 ranks.
void on_every_cut(const std::function<void(SharedQueue&)>& serve) {
    serve_over(1, 1, serve);
    if (world().size() % 2 != 0) return;
    serve_over(2, 1, serve);
    serve_over(1, 2, serve);
}

// The expected tokens come from transformers.
nlohmann::json expected_texts() {
    auto texts = nlohmann::json::parse(std::ifstream(folder + "expected.json"))["f16"]["greedy"];
    for (auto& text : texts) {  // short, because ranks that share a core take long for a token
        auto ids = text["ids"].get<std::vector<std::int32_t>>();
        ids.resize(8);
        text["ids"] = ids;
    }
    return texts;
}

Request request_of(const nlohmann::json& text, std::int64_t id) {
    Request request;
    request.id = id;
    request.prompt = text["prompt_ids"].get<std::vector<std::int32_t>>();
    request.max_tokens = static_cast<int>(text["ids"].size());
    request.continues = true;
    request.top_n = 2;
    return request;
}

TEST(ServeReplicas, AnswersRequestsOfSeveralThreads) {
    const nlohmann::json texts = expected_texts();
    on_every_cut([&](SharedQueue& queue) {
        constexpr std::int64_t requests = 16;
        std::atomic<std::int64_t> next = 0;
        std::atomic<int> cancelled = 0;
        const auto client = [&] {
            for (std::int64_t id = next++; id < requests; id = next++) {
                const auto& text = texts[static_cast<std::size_t>(id) % texts.size()];
                std::promise<Outcome> promise;
                std::string told;
                std::vector<std::int32_t> tokens;
                queue.submit(
                    request_of(text, id),
                    [&](const Delta& delta) {
                        told += delta.text;
                        tokens.insert(tokens.end(), delta.tokens.begin(), delta.tokens.end());
                        EXPECT_EQ(delta.top.size(), delta.tokens.size());
                        return true;
                    },
                    [&](Outcome outcome) { promise.set_value(std::move(outcome)); });
                if (id % 4 == 3) queue.cancel(id);
                const Outcome outcome = promise.get_future().get();
                EXPECT_EQ(outcome.id, id);
                if (outcome.finish == Finish::Cancelled) {
                    ++cancelled;
                    continue;
                }
                EXPECT_EQ(outcome.tokens, text["ids"].get<std::vector<std::int32_t>>()) << id;
                EXPECT_EQ(tokens, outcome.tokens);
                EXPECT_EQ(told, outcome.text);
                EXPECT_EQ(outcome.top.size(), outcome.tokens.size());
            }
        };
        {
            std::vector<std::jthread> clients;
            for (int i = 0; i < 4; ++i) clients.emplace_back(client);
        }
        EXPECT_GT(cancelled, 0);
        // Counters of other ranks follow within a tenth of a second.
        for (int i = 0; i < 100 && queue.counters().requests < requests; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        EXPECT_EQ(queue.counters().requests, requests);
        EXPECT_EQ(queue.counters().scheduler.pages_in_use, 0);
        for (const ReplicaState& each : queue.replicas()) {
            EXPECT_TRUE(each.works);
            EXPECT_GT(each.counters.requests, 0);
        }
        EXPECT_TRUE(queue.idle());
    });
}

TEST(ServeReplicas, EndsRequestsWhoseCallbacksFail) {
    const nlohmann::json texts = expected_texts();
    on_every_cut([&](SharedQueue& queue) {
        std::vector<std::promise<Outcome>> outcomes(8);
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            const auto on_delta = [i](const Delta& delta) {
                if (i % 2 == 0 && !delta.tokens.empty()) throw std::runtime_error("the pipe is broken");
                return delta.tokens.empty();
            };
            queue.submit(request_of(texts[0], static_cast<std::int64_t>(i)), on_delta,
                         [&, i](Outcome outcome) { outcomes[i].set_value(std::move(outcome)); });
        }
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            const Outcome outcome = outcomes[i].get_future().get();
            EXPECT_EQ(outcome.finish, i % 2 == 0 ? Finish::Failed : Finish::Stopped);
            EXPECT_EQ(outcome.error, i % 2 == 0 ? "the pipe is broken" : "");
        }
    });
}

TEST(ServeReplicas, ObeysGrammarsOnEveryReplica) {
    const nlohmann::json texts = expected_texts();
    on_every_cut([&](SharedQueue& queue) {
        std::vector<std::promise<Outcome>> outcomes(8);
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            Request request = request_of(texts[i % texts.size()], static_cast<std::int64_t>(i));
            request.max_tokens = 20;
            request.continues = false;
            request.sampling.temperature = 1;
            request.sampling.seed = i;
            request.grammar = GrammarSource{GrammarSource::Kind::Regex, "[0-9]{4}"};
            queue.submit(request, {}, [&, i](Outcome outcome) { outcomes[i].set_value(std::move(outcome)); });
        }
        for (std::promise<Outcome>& each : outcomes) {
            const Outcome outcome = each.get_future().get();
            EXPECT_EQ(outcome.error, "");
            EXPECT_TRUE(std::regex_match(outcome.text, std::regex("[0-9]{4}"))) << outcome.text;
        }
        for (std::int64_t id = 8; id < 12; ++id) {  // wherever it would have gone
            Request broken = request_of(texts[0], id);
            broken.grammar = GrammarSource{GrammarSource::Kind::Regex, "("};
            EXPECT_THROW(queue.submit(broken), JobError);
        }
    });
}

TEST(ServeReplicas, ChecksRequestsBeforeTheyAreSent) {
    serve_over(1, 1, [&](SharedQueue& queue) {
        Request request = request_of(expected_texts()[0], 1);
        request.prompt = {-1};
        EXPECT_THROW(queue.submit(request), JobError);
        request.prompt.clear();
        EXPECT_THROW(queue.submit(request), JobError);
        queue.close();
        request.prompt = {3};
        EXPECT_THROW(queue.submit(request), QueueClosed);
    });
}

TEST(ServeReplicas, ErrorOfTheServerEndsAllRanks) {
    try {
        serve_over(1, 1, [](SharedQueue&) { throw MachineError("the port is in use"); });
        FAIL() << "no error";
    } catch (const AgreedError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::CannotRun);
        EXPECT_NE(std::string(error.what()).find("the port is in use"), std::string::npos);
    }
}

// A rank that polls without sleeping would use more than three seconds.
TEST(ServeReplicas, SleepsWhileIdle) {
    const auto cpu_seconds = [] {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        const auto seconds = [](const timeval& time) {
            return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
        };
        return seconds(usage.ru_utime) + seconds(usage.ru_stime);
    };
    const double before = cpu_seconds();
    serve_over(1, world().size(), [](SharedQueue&) { std::this_thread::sleep_for(std::chrono::seconds(3)); });
    EXPECT_LT(cpu_seconds() - before, 1.5);
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_mpi_tests(argc, argv);
}
