// Run under mpirun at 1, 2 and 4 ranks (tests/CMakeLists.txt).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "comm/mpi/delayed_any.h"
#include "comm/mpi/outbox.h"
#include "mpi_tests.h"

using namespace voltpile;
using voltpile::test::world;

namespace {

std::string text_of(int rank) {
    return std::string(static_cast<std::size_t>(rank * 1000 + 3), static_cast<char>('a' + rank));
}

}  // namespace

TEST(Communicator, BroadcastsFromEveryRoot) {
    for (int root = 0; root < world().size(); ++root) {
        const std::string mine = world().rank() == root ? text_of(root) : "something else";
        EXPECT_EQ(world().broadcast(mine, root), text_of(root));
    }
    EXPECT_EQ(world().broadcast("", 0), "");
}

TEST(Communicator, AllGatherKeepsLengthsAndOrder) {
    const auto all = world().all_gather(text_of(world().rank()));
    ASSERT_EQ(all.size(), static_cast<std::size_t>(world().size()));
    for (int rank = 0; rank < world().size(); ++rank)
        EXPECT_EQ(all[static_cast<std::size_t>(rank)], text_of(rank));
}

TEST(Communicator, KeepsTheOrderOfMessagesUnderOneTag) {
    constexpr int tag = 7, other_tag = 8, count = 100;
    if (world().rank() != 0) {
        world().send(0, other_tag, "other");
        for (int i = 0; i < count; ++i) world().send(0, tag, std::to_string(i));
    } else {
        std::vector<int> next(static_cast<std::size_t>(world().size()), 0);
        for (int received = 0; received < count * (world().size() - 1);) {
            const auto message = world().poll(tag);
            if (!message) continue;
            auto& expected = next[static_cast<std::size_t>(message->from)];
            EXPECT_EQ(message->bytes, std::to_string(expected));
            ++expected;
            ++received;
        }
        EXPECT_FALSE(world().poll(tag));
        for (int rank = 1; rank < world().size(); ++rank) {
            std::optional<Message> message;
            while (!(message = world().poll(other_tag))) {
            }
            EXPECT_EQ(message->bytes, "other");
        }
    }
}

// Returns what `call` throws on a thread of its own, empty if nothing.
template <class Call>
std::string thrown_elsewhere(Call call) {
    std::string text;
    std::thread([&] {
        try {
            call();
        } catch (const std::logic_error& error) {
            text = error.what();
        }
    }).join();
    return text;
}

TEST(CommunicatorThreads, WorldStaysWithTheMainThread) {
    EXPECT_NE(thrown_elsewhere([] { world().poll(1); }), "");
    EXPECT_NE(thrown_elsewhere([] { world().hand_over(); }), "");
    EXPECT_THROW(world().hand_over(), std::logic_error);
    EXPECT_FALSE(world().poll(1));
}

TEST(CommunicatorThreads, PartsBelongToOneThreadAtATime) {
    const Communicator team = world().split(0);
    const Communicator group = team.split(0);
    EXPECT_NE(thrown_elsewhere([&] { group.all_gather(""); }), "");
    team.hand_over();
    EXPECT_EQ(thrown_elsewhere([&] { group.all_gather(""); }), "");
    EXPECT_THROW(team.poll(1), std::logic_error);  // the other thread has both
    EXPECT_THROW(team.hand_over(), std::logic_error);
}

TEST(CommunicatorThreads, OnePartCanHaveItsOwnThread) {
    const Communicator team = world().split(0);
    Communicator group = team.split(0);
    group.set_own_thread();
    EXPECT_EQ(thrown_elsewhere([&] { group.all_gather(""); }), "");
    EXPECT_FALSE(team.poll(1));
    EXPECT_THROW(group.poll(1), std::logic_error);
}

// The sender does not call MPI until every receiver has confirmed.
TEST(Outbox, DeliversLongMessagesWhileTheSenderDoesNotCallMpi) {
    constexpr int tag = 9;
    const std::filesystem::path folder = world().broadcast(
        (std::filesystem::temp_directory_path() / fmt::format("outbox-{}", getpid())).string(), 0);
    const auto seen_by = [&](int rank) { return folder / std::to_string(rank); };
    const std::string text(3'000'000, 'x');
    if (world().rank() == 0) {
        std::filesystem::create_directory(folder);
        Outbox outbox(world());
        for (int rank = 1; rank < world().size(); ++rank)
            outbox.send(rank, tag, std::make_shared<const std::string>(text));
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        for (int rank = 1; rank < world().size(); ++rank) {
            while (!std::filesystem::exists(seen_by(rank)) && std::chrono::steady_clock::now() < deadline)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            EXPECT_TRUE(std::filesystem::exists(seen_by(rank))) << rank;
        }
        outbox.drain();
        std::filesystem::remove_all(folder);
    } else {
        std::optional<Message> message;
        while (!(message = world().poll(tag))) {
        }
        EXPECT_EQ(message->bytes, text);
        std::ofstream(seen_by(world().rank())) << "seen";
    }
}

TEST(DelayedAny, AllRanksLearnAtTheSameCall) {
    for (const int delay : {1, 3})
        for (int first = 1; first <= 7; ++first)
            for (int who = 0; who < world().size(); ++who) {
                DelayedAny any(world(), delay);
                int calls = 1;
                while (!any.tell(calls == first && world().rank() == who)) ASSERT_LT(++calls, 100);
                const auto all = world().all_gather(std::to_string(calls));
                for (const std::string& each : all) EXPECT_EQ(each, all.front());
                EXPECT_GT(calls, first);
                EXPECT_LT(calls, first + 2 * delay);
            }
}

TEST(DelayedAny, StaysFalseIfNoRankSaysTrue) {
    DelayedAny any(world(), 2);
    for (int i = 0; i < 9; ++i) EXPECT_FALSE(any.tell(false));
    any.finish();
}

// Would hang if a rank waited for the others.
TEST(DelayedAny, LetsARankRunAhead) {
    constexpr int delay = 4, tag = 11;
    DelayedAny any(world(), delay);
    const auto tell_all = [&] {
        for (int i = 0; i < delay; ++i) EXPECT_FALSE(any.tell(false));
    };
    if (world().rank() == 0) {
        tell_all();
        for (int rank = 1; rank < world().size(); ++rank) world().send(rank, tag, "begin");
    } else {
        world().wait_for(tag);
        tell_all();
    }
    any.finish();
}

int main(int argc, char** argv) {
    return voltpile::test::run_mpi_tests(argc, argv);
}
