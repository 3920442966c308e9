// Channels between the ranks of mpirun: at 1 (local), 2 and 4 ranks. Suites named Gpu... need a GPU, which
// ranks may share, and skip themselves without one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>

#include "channel_buffer.h"
#include "comm/channel/group.h"
#include "device/device.h"
#include "mpi_tests.h"

using namespace voltpile;
using voltpile::test::world;
using namespace std::chrono_literals;

namespace {

int after() {
    return (world().rank() + 1) % world().size();
}
int before() {
    return (world().rank() + world().size() - 1) % world().size();
}

struct Way {
    MemoryKind kind;
    bool staged;
};

void PrintTo(const Way& way, std::ostream* out) {
    *out << (way.kind == MemoryKind::Host ? "host" : "GPU") << (way.staged ? ", staged" : "");
}

ChannelOptions options_for(Way way) {
    ChannelOptions options;
    if (way.kind == MemoryKind::Gpu) options.gpu = world().rank() % device_count();
    options.stage_gpu_buffers = way.staged;
    return options;
}

std::uint64_t seed_of(int sender, std::uint64_t number) {
    return static_cast<std::uint64_t>(sender) << 32 | number;
}

// The two directions of a ring: at two ranks both lead to the same peer, at one rank to itself.
class ChannelTest : public testing::TestWithParam<Way> {
  protected:
    void SetUp() override {
        if (!VOLTPILE_UCX && world().size() > 1) GTEST_SKIP() << "built without UCX";
        if (GetParam().kind == MemoryKind::Gpu && device_count() == 0) GTEST_SKIP() << "no GPU";
        if (GetParam().kind == MemoryKind::Gpu) use_device(world().rank() % device_count());
    }
    // Code that runs on one rank only must not end before this.
    void TearDown() override { world().all_gather(""); }
    MemoryKind kind() const { return GetParam().kind; }
};

}  // namespace

TEST_P(ChannelTest, TransfersEverySizeInBothDirections) {
    ChannelGroup group(world(), options_for(GetParam()));
    Channel& forth = group.channel(after(), 1);
    Channel& back = group.channel(before(), 1);
    for (const std::size_t bytes : {0UL, 1UL, 3UL, 8UL, 63UL, 1000UL, 4096UL, 16384UL, 65537UL, 1UL << 20,
                                    (1UL << 20) + 1, (3UL << 20) - 5, (16UL << 20) + 13, 64UL << 20}) {
        TestBuffer out(kind(), bytes), in(kind(), bytes);
        out.set(pattern(bytes, seed_of(world().rank(), bytes)));
        const Transfer received = back.receive(in.memory());
        const Transfer sent = forth.send(out.memory());
        sent.wait();
        received.wait();
        EXPECT_TRUE(sent.done() && received.done());
        EXPECT_TRUE(in.get() == pattern(bytes, seed_of(before(), bytes))) << bytes << " bytes";
    }
    for (const std::string& line : group.paths()) std::cout << line << '\n';
}

TEST_P(ChannelTest, KeepsTheOrderOfManyInFlight) {
    constexpr int count = 300;
    ChannelGroup group(world(), options_for(GetParam()));
    Channel& forth = group.channel(after());
    Channel& back = group.channel(before());
    const auto size = [](int i) { return static_cast<std::size_t>(i * 7919 % 50'000); };
    std::vector<std::unique_ptr<TestBuffer>> in, out;
    std::vector<Transfer> received, sent;
    for (int i = 0; i < count; ++i) {
        in.push_back(std::make_unique<TestBuffer>(kind(), size(i)));
        out.push_back(std::make_unique<TestBuffer>(kind(), size(i)));
        out.back()->set(pattern(size(i), seed_of(world().rank(), static_cast<std::uint64_t>(i))));
    }
    // All receives at once, or as late as the sends.
    for (int i = 0; i < count; ++i) {
        if (world().rank() % 2 == 0)
            received.push_back(back.receive(in[static_cast<std::size_t>(i)]->memory()));
    }
    for (int i = 0; i < count; ++i) {
        if (world().rank() % 2 != 0)
            received.push_back(back.receive(in[static_cast<std::size_t>(i)]->memory()));
        sent.push_back(forth.send(out[static_cast<std::size_t>(i)]->memory()));
    }
    for (const Transfer& each : received) each.wait();
    for (const Transfer& each : sent) each.wait();
    for (int i = 0; i < count; ++i)
        ASSERT_TRUE(in[static_cast<std::size_t>(i)]->get() ==
                    pattern(size(i), seed_of(before(), static_cast<std::uint64_t>(i))))
            << i;
}

TEST_P(ChannelTest, KeepsChannelsOfOnePairApart) {
    ChannelGroup group(world(), options_for(GetParam()));
    constexpr std::size_t bytes = 5000;
    constexpr int ids[] = {0, 7, 4095};
    std::vector<std::unique_ptr<TestBuffer>> out, in;
    std::vector<Transfer> transfers;
    for (int id : ids) {
        out.push_back(std::make_unique<TestBuffer>(kind(), bytes));
        out.back()->set(pattern(bytes, seed_of(world().rank(), static_cast<std::uint64_t>(id))));
        transfers.push_back(group.channel(after(), id).send(out.back()->memory()));
    }
    for (int i = 2; i >= 0; --i) {
        in.push_back(std::make_unique<TestBuffer>(kind(), bytes));
        transfers.push_back(group.channel(before(), ids[i]).receive(in.back()->memory()));
    }
    for (const Transfer& each : transfers) each.wait();
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_TRUE(in[i]->get() ==
                    pattern(bytes, seed_of(before(), static_cast<std::uint64_t>(ids[2 - i]))));
}

TEST_P(ChannelTest, CompletesRandomSchedulesWithRandomDelays) {
    const int schedules = kind() == MemoryKind::Host ? 10'000 : 2'000;
    ChannelGroup group(world(), options_for(GetParam()));
    std::mt19937 common(4711);                                      // the same on all ranks
    std::mt19937 own(static_cast<unsigned>(100 + world().rank()));  // delays and orders
    constexpr std::size_t largest = 3000;
    std::vector<TestBuffer> out, in;
    for (int i = 0; i < 8; ++i) {
        out.emplace_back(kind(), largest);
        in.emplace_back(kind(), largest);
    }
    for (int i = 0; i < 8; ++i)
        out[static_cast<std::size_t>(i)].set(
            pattern(largest, seed_of(world().rank(), static_cast<std::uint64_t>(i))));
    const auto delay = [&] {
        const auto dice = own() % 100;
        if (dice == 0) std::this_thread::sleep_for(50us);
        if (dice < 10)
            for (const auto until = std::chrono::steady_clock::now() + 10us;
                 std::chrono::steady_clock::now() < until;) {
            }
    };
    for (int schedule = 0; schedule < schedules; ++schedule) {
        // The number of messages of each size that each rank sends in this round.
        std::vector<std::vector<std::size_t>> sizes(static_cast<std::size_t>(world().size()));
        for (auto& of_rank : sizes)
            for (auto n = common() % 4; n > 0; --n) of_rank.push_back(common() % largest);
        const auto& mine = sizes[static_cast<std::size_t>(world().rank())];
        const auto& theirs = sizes[static_cast<std::size_t>(before())];
        std::vector<int> order;  // 0: the next send, 1: the next receive
        order.insert(order.end(), mine.size(), 0);
        order.insert(order.end(), theirs.size(), 1);
        std::shuffle(order.begin(), order.end(), own);
        std::vector<Transfer> transfers;
        std::size_t sent = 0, received = 0;
        for (int what : order) {
            delay();
            const bool sends = what == 0;
            Memory memory = sends ? out[sent].memory() : in[received].memory();
            memory.bytes = sends ? mine[sent] : theirs[received];
            transfers.push_back(sends ? group.channel(after()).send(memory)
                                      : group.channel(before()).receive(memory));
            ++(sends ? sent : received);
        }
        std::shuffle(transfers.begin(), transfers.end(), own);
        for (const Transfer& each : transfers) {
            delay();
            each.wait();
        }
        if (kind() == MemoryKind::Gpu && schedule % 50 != 0)
            continue;  // polling takes longer than transferring
        for (std::size_t i = 0; i < theirs.size(); ++i) {
            std::vector<std::uint8_t> found = in[i].get(), expected = pattern(largest, seed_of(before(), i));
            found.resize(theirs[i]);
            expected.resize(theirs[i]);
            ASSERT_TRUE(found == expected) << "schedule " << schedule << ", receive " << i;
        }
    }
}

TEST_P(ChannelTest, RejectsSendsWhileFull) {
    if (world().size() > 1 && world().rank() > 1) {
        ChannelOptions options = options_for(GetParam());
        options.max_in_flight = 8;
        ChannelGroup group(world(), options);
        world().all_gather("full");
        return;
    }
    ChannelOptions options = options_for(GetParam());
    options.max_in_flight = 8;
    ChannelGroup group(world(), options);
    const bool alone = world().size() == 1;
    Channel& channel = group.channel(alone ? 0 : 1 - world().rank());
    constexpr std::size_t bytes = 2000;
    TestBuffer out(kind(), bytes), in(kind(), bytes);
    out.set(pattern(bytes, 1));
    std::vector<Transfer> sent;
    if (world().rank() == 0) {
        for (int i = 0; i < 8; ++i) {
            auto transfer = channel.try_send(out.memory());
            ASSERT_TRUE(transfer) << i;
            sent.push_back(*transfer);
        }
        EXPECT_FALSE(channel.try_send(out.memory()));
        EXPECT_EQ(channel.in_flight(), 8);
        std::this_thread::sleep_for(50ms);
        EXPECT_FALSE(channel.try_send(out.memory()));
    }
    world().all_gather("full");
    if (alone || world().rank() == 1)
        for (int i = 0; i < 8; ++i) channel.receive(in.memory()).wait();
    if (world().rank() == 0) {
        channel.send(out.memory());  // waits for room
        EXPECT_LE(channel.in_flight(), 8);
    }
    if (alone || world().rank() == 1) channel.receive(in.memory()).wait();
    for (const Transfer& each : sent) each.wait();
    EXPECT_TRUE(alone || world().rank() == 1 ? in.get() == pattern(bytes, 1) : true);
}

INSTANTIATE_TEST_SUITE_P(Host, ChannelTest, testing::Values(Way{MemoryKind::Host, false}));
INSTANTIATE_TEST_SUITE_P(GpuAsUcxCan, ChannelTest, testing::Values(Way{MemoryKind::Gpu, false}));
INSTANTIATE_TEST_SUITE_P(GpuStaged, ChannelTest, testing::Values(Way{MemoryKind::Gpu, true}));

namespace {

std::size_t resident_bytes() {
    std::ifstream in("/proc/self/statm");
    std::size_t total = 0, resident = 0;
    in >> total >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST(ChannelLimits, BoundsTheMemoryOfUnreceivedData) {
    if (!VOLTPILE_UCX) GTEST_SKIP() << "built without UCX";
    constexpr std::size_t bytes = 8000;
    constexpr int count = 20'000;  // 160 MB
    // Outlives the group: the last sends may be in flight until it ends.
    std::vector<std::uint8_t> data(bytes);
    ChannelGroup group(world(), ChannelOptions{});
    if (world().rank() < 2 && world().size() > 1) {
        Channel& channel = group.channel(1 - world().rank());
        const std::size_t begin = resident_bytes();
        std::size_t most = begin;
        if (world().rank() == 1) std::this_thread::sleep_for(300ms);
        for (int i = 0; i < count; ++i) {
            if (world().rank() == 0)
                channel.send(host_memory(data.data(), bytes));
            else
                channel.receive(host_memory(data.data(), bytes)).wait();
            if (i % 100 == 0) most = std::max(most, resident_bytes());
        }
        EXPECT_LT(most - begin, 64U << 20);
    }
    world().all_gather("");
}

TEST(ChannelLimits, LimitsBytesInFlight) {
    if (!VOLTPILE_UCX && world().size() > 1) GTEST_SKIP() << "built without UCX";
    ChannelOptions options;
    options.max_bytes_in_flight = 10 << 20;
    ChannelGroup group(world(), options);
    std::vector<std::uint8_t> data(6 << 20);
    const int sender = 0, receiver = world().size() > 1 ? 1 : 0;
    std::optional<Transfer> first, second;
    if (world().rank() == sender) {
        Channel& channel = group.channel(receiver);
        first = channel.try_send(host_memory(data.data(), data.size()));
        ASSERT_TRUE(first);
        EXPECT_FALSE(channel.try_send(host_memory(data.data(), data.size())));
        second = channel.try_send(host_memory(data.data(), 4 << 20));
        EXPECT_TRUE(second);
    }
    world().all_gather("");
    std::vector<std::uint8_t> in(data.size());
    if (world().rank() == receiver) {
        group.channel(sender).receive(host_memory(in.data(), in.size())).wait();
        group.channel(sender).receive(host_memory(in.data(), 4 << 20)).wait();
    }
    if (first) first->wait();
    if (second) second->wait();
    world().all_gather("");
}

// Streams are ordered with transfers although the host never waits for them.
class GpuStreamOrder : public testing::TestWithParam<bool> {};

TEST_P(GpuStreamOrder, SendsAfterWorkAndWorksAfterReceive) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU";
    use_device(world().rank() % device_count());
    ChannelGroup group(world(), options_for({MemoryKind::Gpu, GetParam()}));
    Channel& forth = group.channel(after());
    Channel& back = group.channel(before());
    constexpr std::size_t bytes = (4 << 20) + 3;
    constexpr int rounds = 20;
    const Stream compute;
    DeviceBuffer<std::uint8_t> large(512 << 20), out(bytes), in(bytes);
    PinnedBuffer<std::uint8_t> given(bytes * rounds), found(bytes * rounds);
    for (int i = 0; i < rounds; ++i) {
        const auto values = pattern(bytes, seed_of(world().rank(), static_cast<std::uint64_t>(i)));
        std::copy(values.begin(), values.end(), given.data() + static_cast<std::size_t>(i) * bytes);
    }
    std::vector<Transfer> transfers;
    for (int i = 0; i < rounds; ++i) {
        const std::size_t at = static_cast<std::size_t>(i) * bytes;
        set_to_zero(large.data(), large.bytes(), compute);  // keeps the stream busy behind the host
        copy_to_device(out.data(), given.data() + at, bytes, compute);
        transfers.push_back(forth.send(gpu_memory(out.data(), bytes), &compute));
        set_to_zero(in.data(), bytes, compute);
        transfers.push_back(back.receive(gpu_memory(in.data(), bytes), &compute));
        transfers.back().wait_on(compute);
        copy_to_host(found.data() + at, in.data(), bytes, compute);
        transfers[transfers.size() - 2].wait_on(compute);  // `out` is written again
    }
    for (const Transfer& each : transfers) each.wait();
    compute.synchronize();
    for (int i = 0; i < rounds; ++i) {
        const std::uint8_t* begin = found.data() + static_cast<std::size_t>(i) * bytes;
        const auto expected = pattern(bytes, seed_of(before(), static_cast<std::uint64_t>(i)));
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), begin)) << i;
    }
    world().all_gather("");
}

TEST_P(GpuStreamOrder, NeverWaitsOnTheHost) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU";
    use_device(world().rank() % device_count());
    ChannelGroup group(world(), options_for({MemoryKind::Gpu, GetParam()}));
    constexpr std::size_t bytes = 100'000;
    const Stream compute;
    TestBuffer early(MemoryKind::Gpu, bytes), early_in(MemoryKind::Gpu, bytes), late(MemoryKind::Gpu, bytes),
        late_in(MemoryKind::Gpu, bytes);
    early.set(pattern(bytes, seed_of(world().rank(), 1)));
    late.set(pattern(bytes, seed_of(world().rank(), 2)));
    // The stream waits for the last send, and the first send waits for the stream.
    const Transfer late_received = group.channel(before(), 1).receive(late_in.memory());
    late_received.wait_on(compute);
    const Transfer early_sent = group.channel(after(), 0).send(early.memory(), &compute);
    const Transfer early_received = group.channel(before(), 0).receive(early_in.memory());
    world().all_gather("");
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(compute.idle() || late_received.done() || early_sent.done() || early_received.done());
    world().all_gather("");
    group.channel(after(), 1).send(late.memory()).wait();
    for (const Transfer& each : {late_received, early_sent, early_received}) each.wait();
    EXPECT_TRUE(early_in.get() == pattern(bytes, seed_of(before(), 1)));
    EXPECT_TRUE(late_in.get() == pattern(bytes, seed_of(before(), 2)));
    world().all_gather("");
}

INSTANTIATE_TEST_SUITE_P(AsUcxCanOrStaged, GpuStreamOrder, testing::Bool());

int main(int argc, char** argv) {
    return voltpile::test::run_mpi_tests(argc, argv);
}
