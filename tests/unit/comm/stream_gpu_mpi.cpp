// Collectives on GPUs, one rank each. Run under mpirun; skips itself with fewer GPUs than ranks.
// VOLTPILE_TEST_CALLS: the number of random calls (10000).
#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/mpi/communicator.h"
#include "device/device.h"
#include "mpi_tests.h"
#include "stream_places.h"
#if VOLTPILE_CUDA
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "comm/collective/graph.h"
#include "comm/collective/nccl_communicator.h"
#include "comm/collective/peer_communicator.h"
#endif

using namespace voltpile;
using voltpile::test::world;
using namespace voltpile::stream_test;

#if VOLTPILE_CUDA

namespace {

constexpr std::size_t room = 16 << 20;

int random_calls() {
    const char* text = std::getenv("VOLTPILE_TEST_CALLS");
    return text ? std::atoi(text) : 10'000;
}

std::unique_ptr<PeerCommunicator> make_peer(std::uint64_t first_call = 0, double deadline_s = 60) {
    std::string why_not;
    auto memory = PeerMemory::map(world(), world().rank(), why_not, first_call);
    if (!memory) return nullptr;
    return std::make_unique<PeerCommunicator>(world(), std::move(memory), deadline_s);
}

// Plans of every wire, with few and with many threads.
std::vector<PeerPlan> plans() {
    std::vector<PeerPlan> all;
    for (const PeerWire wire : {PeerWire::LowLatency, PeerWire::Flagged})
        for (const bool two_shot : {false, true})
            for (const PeerShape shape :
                 {PeerShape{1, 32}, PeerShape{3, 96}, PeerShape{0, 0}, PeerShape{64, 512}})
                all.push_back({wire, two_shot, shape});
    return all;
}

void fill(Batch& batch, std::mt19937& random, std::size_t calls, std::int64_t max_count = 20'000) {
    while (batch.size() < calls && batch.add(random_case(random, world().size(), max_count))) {
    }
}

void run(StreamCommunicator& comm, const Batch& batch, GpuPlace& place,
         const std::function<void(int)>& before = {}) {
    batch.load(place);
    batch.enqueue(comm, place, before);
    ASSERT_EQ(batch.check(place), "");
    comm.check();
}

// Every collective, type and small size, in place and not, aligned and not.
void every_size(StreamCommunicator& comm) {
    constexpr std::size_t little = 4 << 20;
    GpuPlace place(little);
    unsigned seed = 0;
    for (const Call call : collective_calls)
        for (const ElementType type :
             {ElementType::Int32, ElementType::Float16, ElementType::Float32, ElementType::Float64}) {
            Batch batch(comm.rank(), comm.size(), little);
            for (std::int64_t count = 1; count <= 300; ++count)
                ASSERT_TRUE(
                    batch.add({call, type, seed % 3 ? Reduction::Sum : Reduction::Max, count, seed % 2 == 0,
                               seed % 5 == 0, static_cast<int>(seed) % comm.size(), 0, ++seed}));
            run(comm, batch, place);
            if (testing::Test::HasFatalFailure()) return;
        }
}

void large_sizes(StreamCommunicator& comm) {
    constexpr std::size_t large = 48 << 20;
    GpuPlace place(large);
    for (const Call call : {Call::AllReduce, Call::AllGather, Call::ReduceScatter, Call::AllToAll,
                            Call::Broadcast, Call::SendReceive}) {
        Batch batch(comm.rank(), comm.size(), large);
        for (const std::int64_t count : {4097, 65537, 250'007, 1'100'003})
            for (const bool odd : {false, true})
                if (count < 1'000'000 || odd) {
                    ASSERT_TRUE(batch.add({call, ElementType::Float32, Reduction::Sum, count,
                                           odd && call != Call::SendReceive, odd, comm.size() - 1, 0, 5}));
                }
        run(comm, batch, place);
        if (testing::Test::HasFatalFailure()) return;
    }
}

// Random calls, eager, or as a graph that is launched many times with eager calls in between.
void random_mix(StreamCommunicator& comm, const std::function<void(int)>& before = {}) {
    GpuPlace place(room);
    std::mt19937 random(7);
    for (int done = 0; done < random_calls();) {
        Batch batch(comm.rank(), comm.size(), room), captured(comm.rank(), comm.size(), room);
        fill(batch, random, 300);
        fill(captured, random, 100);
        run(comm, batch, place, before);
        if (testing::Test::HasFatalFailure()) return;
        const CollectiveGraph graph(place.gpu_stream(), [&] { captured.enqueue(comm, place, before); });
        for (int launch = 0; launch < 3; ++launch) {
            captured.load(place);
            graph.launch(place.gpu_stream());
            ASSERT_EQ(captured.check(place), "") << "in a graph, launch " << launch;
        }
        done += static_cast<int>(batch.size() + 3 * captured.size());
    }
}

// Waits as the watchdog does: a hang becomes a CommError that names the missing rank.
void wait_for(StreamCommunicator& comm, const GpuPlace& place) {
    const std::int64_t before = comm.watched().finished;
    comm.watch(place.gpu_stream());
    while (!place.gpu_stream().idle()) {
        comm.check();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    comm.check();
    EXPECT_EQ(comm.watched().finished, before + 1);
    EXPECT_FALSE(comm.watched().under_way);
}

// Calls of both communicators, enqueued in turn on two streams that do not wait for each other.
void two_at_once(StreamCommunicator& first, StreamCommunicator& second) {
    GpuPlace place(room), other(room);
    std::mt19937 random(3);
    for (int round = 0; round < 10; ++round) {
        Batch batch(first.rank(), first.size(), room), other_batch(first.rank(), first.size(), room);
        fill(batch, random, 200);
        fill(other_batch, random, 200);
        batch.load(place);
        other_batch.load(other);
        batch.enqueue(first, place);
        other_batch.enqueue(second, other);
        wait_for(first, place);
        wait_for(second, other);
        ASSERT_EQ(batch.check(place), "");
        ASSERT_EQ(other_batch.check(other), "");
    }
}

// Rank 0 stays away: the others notice by the deadline, and their streams come free.
void missing_peer(StreamCommunicator& comm) {
    GpuPlace place(1024);
    if (comm.rank() != 0) {
        comm.all_reduce(place.in(), place.out(), 4, ElementType::Float32, Reduction::Sum, place.stream());
        comm.watch(place.stream());
        std::string error;
        const auto begin = std::chrono::steady_clock::now();
        while (error.empty() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
            try {
                comm.check();
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            } catch (const CommError& e) {
                error = e.what();
            }
        }
        EXPECT_NE(error.find("rank 0"), std::string::npos) << error;
        EXPECT_TRUE(comm.watched().under_way);
        place.gpu_stream().synchronize();
        EXPECT_THROW(
            comm.all_reduce(place.in(), place.out(), 4, ElementType::Float32, Reduction::Sum, place.stream()),
            CommError);
    }
    EXPECT_TRUE(world().barrier(60));
    comm.abort();
    EXPECT_THROW(comm.check(), CommError);
}

class StreamGpu : public testing::Test {
  protected:
    void SetUp() override {
        if (world().size() < 2) GTEST_SKIP() << "needs two ranks";
        if (device_count() == 0 || (device_count() < world().size() && !ranks_may_share_gpus()))
            GTEST_SKIP() << "needs a GPU for each rank";
        use_device(device());
    }
    virtual bool ranks_may_share_gpus() const { return false; }
    static int device() { return world().rank() % device_count(); }
};

class Peer : public StreamGpu {
  protected:
    void SetUp() override {
        StreamGpu::SetUp();
        if (IsSkipped()) return;
        comm = make_peer();
        if (!comm) GTEST_SKIP() << "the GPUs do not reach each other";
    }
    std::unique_ptr<PeerCommunicator> comm;
};

class ByPath : public StreamGpu, public testing::WithParamInterface<PathChoice> {
  protected:
    std::unique_ptr<StreamCommunicator> make(double deadline_s = 60) {
        StreamOptions options;
        options.path = GetParam();
        options.deadline_s = deadline_s;
        return make_stream_communicator(world(), device(), options);
    }
    bool ranks_may_share_gpus() const override { return GetParam() == PathChoice::Staged; }
    void SetUp() override {
        StreamGpu::SetUp();
        if (IsSkipped()) return;
        if (GetParam() == PathChoice::Nccl && nccl_version().empty()) GTEST_SKIP() << "built without NCCL";
        if (GetParam() == PathChoice::Peer && !make_peer())
            GTEST_SKIP() << "the GPUs do not reach each other";
    }
};

std::string name_of_path(const testing::TestParamInfo<PathChoice>& path) {
    constexpr const char* names[] = {"Auto", "Nccl", "Peer", "Staged"};
    return names[static_cast<int>(path.param)];
}

}  // namespace

TEST_F(Peer, HandlesEverySizeWithEveryPlan) {
    for (const PeerPlan& plan : plans()) {
        comm->set_plan(&plan);
        SCOPED_TRACE(testing::Message() << "wire " << static_cast<int>(plan.wire) << " two_shot "
                                        << plan.two_shot << " blocks " << plan.shape.blocks);
        every_size(*comm);
        if (HasFatalFailure()) return;
    }
}

TEST_F(Peer, HandlesLargeSizesWithEveryPlan) {
    for (const PeerPlan& plan : plans()) {
        if (plan.shape.blocks == 1 || plan.shape.blocks == 3) continue;
        comm->set_plan(&plan);
        SCOPED_TRACE(testing::Message() << "wire " << static_cast<int>(plan.wire) << " two_shot "
                                        << plan.two_shot << " blocks " << plan.shape.blocks);
        large_sizes(*comm);
        if (HasFatalFailure()) return;
    }
}

TEST_F(Peer, HandlesRandomCallsWithRandomPlans) {
    const auto all = plans();
    random_mix(*comm,
               [&](int i) { comm->set_plan(&all[static_cast<std::size_t>(i * 7 + i / 5) % all.size()]); });
}

TEST_F(Peer, SurvivesWrappingCallNumbers) {
    for (const std::uint64_t first :
         {(1ull << 30) - 150, (1ull << 31) - 150, (1ull << 32) - 151, (1ull << 33) - 7}) {
        const auto late = make_peer(first);
        const auto all = plans();
        GpuPlace place(room);
        std::mt19937 random(static_cast<std::uint32_t>(first));
        Batch batch(late->rank(), late->size(), room);
        fill(batch, random, 400);
        run(*late, batch, place,
            [&](int i) { late->set_plan(&all[static_cast<std::size_t>(i) % all.size()]); });
    }
}

TEST_F(Peer, SumsHalvesInFloatAndInRankOrder) {
    GpuPlace place(64);
    std::vector<char> in(64), out(64);
    const auto run_one = [&](ElementType type) {
        place.write(in, out);
        comm->all_reduce(place.in(), place.out(), 1, type, Reduction::Sum, place.stream());
        place.read(in, out);
    };
    // 2048 + 1 is 2048 in fp16; 2048 + 1 + ... rounded once is not.
    const std::uint16_t half = half_from_float(comm->rank() == 0 ? 2046.0f + 2 : 1.0f);
    std::memcpy(in.data(), &half, sizeof half);
    run_one(ElementType::Float16);
    std::uint16_t sum = 0;
    std::memcpy(&sum, out.data(), sizeof sum);
    EXPECT_EQ(sum, half_from_float(2048.0f + static_cast<float>(comm->size() - 1)));

    const double terms[] = {1e300, -1e300, 1, 1, 1, 1, 1, 1};
    std::memcpy(in.data(), &terms[comm->rank()], sizeof(double));
    run_one(ElementType::Float64);
    double total = 0;
    std::memcpy(&total, out.data(), sizeof total);
    EXPECT_EQ(total, comm->size() - 2);
}

TEST_F(Peer, RunsTwoCommunicatorsAtOnce) {
    const auto first = make_peer(0, 20), second = make_peer(0, 20);
    two_at_once(*first, *second);
}

TEST_F(Peer, NoticesAnAbsentPeerByTheDeadline) {
    missing_peer(*make_peer(0, 0.5));
}

TEST_P(ByPath, HandlesEverySize) {
    every_size(*make());
}
TEST_P(ByPath, HandlesLargeSizes) {
    large_sizes(*make());
}
TEST_P(ByPath, HandlesARandomMix) {
    random_mix(*make());
}
TEST_P(ByPath, RunsTwoCommunicatorsAtOnce) {
    const auto first = make(20), second = make(20);
    two_at_once(*first, *second);
}
TEST_P(ByPath, NoticesAnAbsentPeerByTheDeadline) {
    const auto comm = make(0.5);
    if (GetParam() != PathChoice::Staged) {  // has connected
        GpuPlace place(1024);
        comm->all_reduce(place.in(), place.out(), 4, ElementType::Float32, Reduction::Sum, place.stream());
        place.gpu_stream().synchronize();
    }
    missing_peer(*comm);
}

INSTANTIATE_TEST_SUITE_P(Path, ByPath,
                         testing::Values(PathChoice::Peer, PathChoice::Nccl, PathChoice::Auto,
                                         PathChoice::Staged),
                         name_of_path);

TEST_F(StreamGpu, AutoDescribesAndKeepsItsTable) {
    StreamOptions options;
    options.cache_folder = std::filesystem::temp_directory_path() /
                           ("voltpile-cache-" + world().broadcast(std::to_string(getpid()), 0));
    const auto measured = make_stream_communicator(world(), world().rank(), options);
    const auto cached = make_stream_communicator(world(), world().rank(), options);
    EXPECT_EQ(measured->describe(), cached->describe());
    EXPECT_EQ(world().broadcast(measured->describe(), 0), measured->describe());
    if (world().rank() == 0) {
        std::puts(measured->describe().c_str());
        std::filesystem::remove_all(options.cache_folder);
    }
}

#endif

TEST(StreamGpuOfOne, CopiesItsInput) {
    if (device_count() == 0) GTEST_SKIP() << "needs a GPU";
#if VOLTPILE_CUDA
    const Communicator alone = world().split(world().rank());
    const auto comm = make_stream_communicator(alone, 0);
    use_device(0);
    GpuPlace place(room);
    std::mt19937 random(5);
    Batch batch(0, 1, room);
    while (batch.size() < 300 && batch.add(random_case(random, 1, 20'000, false))) {
    }
    run(*comm, batch, place);
#endif
}

int main(int argc, char** argv) {
    return voltpile::test::run_mpi_tests(argc, argv);
}
