#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/host_name.h"
#include "channel_processes.h"

namespace voltpile {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto deadline = 1500ms;
constexpr auto margin = 1000ms;  // the machine may be busy

ChannelOptions quick() {
    ChannelOptions options;
    options.deadline = deadline;
    return options;
}

// Returns the message of the CommError that `call` throws within the limit.
template <class Call>
std::string failure_of(Call call, std::chrono::milliseconds limit) {
    const auto begin = Clock::now();
    try {
        call();
    } catch (const CommError& error) {
        const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
        require(time <= limit, "failed within " + std::to_string(limit.count()) + " ms but took " +
                                   std::to_string(time.count()) + " (" + error.what() + ")");
        return error.what();
    }
    throw std::runtime_error("no CommError");
}

// The message names both ends and contains `what`.
void require_names(const std::string& message, const TextGather& gather, const std::string& what) {
    const std::vector<std::string> hosts = gather(host_name());
    for (int rank : {0, 1})
        require(message.find("rank " + std::to_string(rank) + " on " +
                             hosts[static_cast<std::size_t>(rank)]) != std::string::npos,
                message + " names rank " + std::to_string(rank) + " and its host");
    require(message.find(what) != std::string::npos, message + " says: " + what);
}

void expect_all_passed(const std::vector<RankResult>& results) {
    for (std::size_t rank = 0; rank < results.size(); ++rank)
        EXPECT_TRUE(results[rank].passed) << "rank " << rank << ", signal " << results[rank].signal;
}

std::vector<char> block(std::size_t bytes, char value = 1) {
    return std::vector<char>(bytes, value);
}

template <class Container>
auto memory_of(Container& data) {
    return host_memory(data.data(), data.size());
}

// Exchanges a message, so that both ends are connected.
void greet(Channel& channel) {
    std::vector<char> out = block(100), in = block(100, 0);
    const Transfer sent = channel.send(memory_of(out));
    channel.receive(memory_of(in)).wait();
    sent.wait();
    require(in == out, "greeting arrived");
}

class ChannelFailure : public testing::Test {
  protected:
    void SetUp() override {
        if (!VOLTPILE_UCX) GTEST_SKIP() << "built without UCX";
    }
};
class ChannelSetUp : public ChannelFailure {};

TEST_F(ChannelFailure, NoticesAKilledPeer) {
    const auto results = run_ranks(2, [](int rank, const TextGather& gather) {
        const std::vector<std::string> hosts = gather(host_name());
        ChannelGroup group(rank, gather, quick());
        Channel& channel = group.channel(1 - rank);
        greet(channel);
        if (rank == 1) raise(SIGKILL);
        std::vector<char> in = block(100), out = block(32 << 20);
        Transfer received, sent;  // unless the failure is known when they start
        const std::string message = failure_of(
            [&] {
                received = channel.receive(memory_of(in));
                sent = channel.send(memory_of(out));
                received.wait();
            },
            deadline + margin);
        for (int each : {0, 1})
            require(message.find("rank " + std::to_string(each) + " on " +
                                 hosts[static_cast<std::size_t>(each)]) != std::string::npos,
                    message + " names both");
        failure_of([&] { channel.send(memory_of(in)); }, 100ms);
        failure_of([&] { channel.receive(memory_of(in)); }, 100ms);
    });
    EXPECT_TRUE(results[0].passed);
    EXPECT_EQ(results[1].signal, SIGKILL);
}

TEST_F(ChannelFailure, NoticesAStoppedPeerThatFailsOnceItContinues) {
    expect_all_passed(run_ranks(2, [](int rank, const TextGather& gather) {
        const std::vector<std::string> hosts = gather(host_name());
        const auto begin = Clock::now();
        {
            ChannelGroup group(rank, gather, quick());
            Channel& channel = group.channel(1 - rank);
            greet(channel);
            std::vector<char> in = block(100), out = block(32 << 20);
            if (rank == 1) raise(SIGSTOP);
            Transfer sent;  // unless the failure is known when it starts
            const std::string message = failure_of(
                [&] {
                    sent = channel.send(memory_of(out));
                    channel.receive(memory_of(in)).wait();
                },
                deadline + margin);
            require(message.find(hosts[1]) != std::string::npos, message);
        }
        require(Clock::now() - begin < 12s, "the group's end does not hang");
    }));
}

TEST_F(ChannelFailure, NoticesAPeerThatNeverReceives) {
    expect_all_passed(run_ranks(2, [](int rank, const TextGather& gather) {
        ChannelGroup group(rank, gather, quick());
        Channel& channel = group.channel(1 - rank);
        greet(channel);
        std::string message = "rank 0 on node0 and rank 1 on node1";
        std::vector<char> out = block(8 << 20);
        if (rank == 0)
            message = failure_of([&] { channel.send(memory_of(out)).wait(); }, deadline + 500ms + margin);
        gather("");
        if (rank == 0)
            require_names(message, gather, "8.4 MB of host memory did not go through");
        else
            gather(host_name());
    }));
}

TEST_F(ChannelFailure, NoticesAPeerThatNeverReceivesSmallMessages) {
    expect_all_passed(run_ranks(2, [](int rank, const TextGather& gather) {
        ChannelGroup group(rank, gather, quick());
        Channel& channel = group.channel(1 - rank);
        greet(channel);
        std::vector<char> out = block(1000);
        std::string message;
        if (rank == 0) {
            for (int i = 0; i < 63; ++i) channel.send(memory_of(out)).wait();  // done: they are in flight
            message = failure_of([&] { channel.send(memory_of(out)), channel.send(memory_of(out)); },
                                 deadline + margin);
        }
        gather("");
        if (rank == 0)
            require_names(message, gather, "sends are not received");
        else
            gather(host_name());
    }));
}

TEST_F(ChannelFailure, NoticesAPeerThatNeverSends) {
    expect_all_passed(run_ranks(2, [](int rank, const TextGather& gather) {
        ChannelGroup group(rank, gather, quick());
        Channel& channel = group.channel(1 - rank);
        greet(channel);
        std::vector<char> in = block(1000);
        std::string message;
        if (rank == 0)
            message = failure_of([&] { channel.receive(memory_of(in)).wait(); }, deadline + margin);
        gather("");
        if (rank == 0)
            require_names(message, gather, "1.0 kB of host memory did not come");
        else
            gather(host_name());
    }));
}

TEST_F(ChannelFailure, LimitOfAReceiveReplacesTheDeadline) {
    expect_all_passed(run_ranks(2, [](int rank, const TextGather& gather) {
        ChannelGroup group(rank, gather, quick());
        Channel& channel = group.channel(1 - rank);
        std::vector<char> data = block(1000, static_cast<char>(rank));
        if (rank == 1) {
            std::this_thread::sleep_for(2 * deadline);
            channel.send(memory_of(data)).wait();
        } else {
            channel.receive(memory_of(data), nullptr, 5 * deadline).wait();
            require(data == block(1000, 1), "it came");
        }
        gather("");
    }));
}

TEST_F(ChannelFailure, RejectsDifferentSizesAtTheTwoEnds) {
    expect_all_passed(run_ranks(2, [](int rank, const TextGather& gather) {
        for (const auto& [sent, received] :
             {std::pair{100, 99}, {99, 100}, {0, 1}, {20'000'000, 10'000'000}}) {
            ChannelGroup group(rank, gather, quick());
            Channel& channel = group.channel(1 - rank);
            std::vector<char> out = block(static_cast<std::size_t>(sent)),
                              in = block(static_cast<std::size_t>(received));
            if (rank == 0) {
                const Transfer transfer = channel.send(memory_of(out));
            } else {
                failure_of([&] { channel.receive(memory_of(in)).wait(); }, deadline + margin);
                group.abort("sizes differ");
            }
            gather("");
        }
    }));
}

TEST_F(ChannelFailure, AbortReachesThePeer) {
    expect_all_passed(run_ranks(2, [](int rank, const TextGather& gather) {
        ChannelOptions options;  // half a minute
        ChannelGroup group(rank, gather, options);
        Channel& channel = group.channel(1 - rank);
        greet(channel);
        std::vector<char> in = block(100);
        const Transfer received = channel.receive(memory_of(in));
        gather("");
        if (rank == 0) {
            group.abort("out of luck");
            require(failure_of([&] { received.wait(); }, 100ms).find("out of luck") != std::string::npos,
                    "the reason");
        }
        failure_of([&] { received.wait(); }, 3000ms);
        failure_of([&] { channel.send(memory_of(in)); }, 100ms);
        gather("");
    }));
}

TEST_F(ChannelFailure, DeliversEverythingSentBeforeTheSenderEnds) {
    expect_all_passed(run_ranks(2, [](int rank, const TextGather& gather) {
        const auto begin = Clock::now();
        std::vector<char> large = block(5 << 20);
        {
            ChannelGroup group(rank, gather, quick());
            Channel& channel = group.channel(1 - rank);
            if (rank == 0) {
                for (char i = 0; i < 50; ++i) {
                    std::vector<char> small = block(1000, i);
                    channel.send(memory_of(small)).wait();
                }
                channel.send(memory_of(large));
                return;  // the group's end waits for it
            }
            std::this_thread::sleep_for(500ms);
            for (char i = 0; i < 50; ++i) {
                std::vector<char> small = block(1000, -1);
                channel.receive(memory_of(small)).wait();
                require(small == block(1000, i), "small one arrived");
            }
            std::vector<char> in = block(5 << 20, 0);
            channel.receive(memory_of(in)).wait();
            require(in == large, "large one arrived");
            require(
                failure_of([&] { channel.receive(memory_of(in)).wait(); }, deadline + margin).find("ended") !=
                    std::string::npos,
                "the peer has ended");
        }
        require(Clock::now() - begin < 5s, "ends at once");
    }));
}

TEST_F(ChannelSetUp, RejectsRanksWithDifferentOptions) {
    expect_all_passed(run_ranks(3, [](int rank, const TextGather& gather) {
        ChannelOptions options = quick();
        if (rank == 1) options.max_in_flight = 5;
        const std::string message = failure_of([&] { ChannelGroup group(rank, gather, options); }, 5000ms);
        require(message.find("rank 1") != std::string::npos &&
                    message.find("max_in_flight = 5") != std::string::npos,
                message);
    }));
}

TEST_F(ChannelSetUp, NamesARankThatCannotJoinOnAllRanks) {
    expect_all_passed(run_ranks(3, [](int rank, const TextGather& gather) {
        ChannelOptions options = quick();
        if (rank == 2) options.gpu = 99;
        const std::string message = failure_of([&] { ChannelGroup group(rank, gather, options); }, 10000ms);
        require(message.find("rank 2 on") != std::string::npos && message.find("99") != std::string::npos,
                message);
    }));
}

TEST_F(ChannelSetUp, UsesTheGivenNetworkDevice) {
    expect_all_passed(run_ranks(2, [](int rank, const TextGather& gather) {
        setenv("UCX_TLS", "tcp,self", 1);
        ChannelOptions options = quick();
        options.net_devices = "lo";
        ChannelGroup group(rank, gather, options);
        greet(group.channel(1 - rank));
        const std::vector<std::string> paths = group.paths();
        require(paths.size() == 1 && paths[0].find("host memory by tcp/lo;") != std::string::npos,
                paths.at(0));
    }));
}

}  // namespace
}  // namespace voltpile
