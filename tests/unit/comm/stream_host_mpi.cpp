// Collectives on host memory. Run under mpirun at 1, 2 and 4 ranks (tests/CMakeLists.txt).
#include <gtest/gtest.h>

#include "base/error.h"
#include "mpi_tests.h"
#include "stream_places.h"

using namespace voltpile;
using voltpile::test::world;
using namespace voltpile::stream_test;

namespace {

constexpr std::size_t room = 4 << 20;

void run(StreamCommunicator& comm, const Batch& batch, Place& place) {
    batch.load(place);
    batch.enqueue(comm, place);
    EXPECT_EQ(batch.check(place), "");
}

}  // namespace

TEST(StreamHost, HandlesEverySizeTypeAndAlignment) {
    const auto comm = make_stream_communicator(world(), -1);
    HostPlace place(room);
    unsigned seed = 0;
    for (const Call call : collective_calls)
        for (const ElementType type :
             {ElementType::Int32, ElementType::Float16, ElementType::Float32, ElementType::Float64}) {
            Batch batch(comm->rank(), comm->size(), room);
            for (std::int64_t count = 1; count <= 300; count += count < 70 ? 1 : 23)
                ASSERT_TRUE(
                    batch.add({call, type, seed % 3 ? Reduction::Sum : Reduction::Max, count, seed % 2 == 0,
                               seed % 5 == 0, static_cast<int>(seed) % comm->size(), 0, ++seed}));
            run(*comm, batch, place);
        }
}

TEST(StreamHost, HandlesOddLargeSizes) {
    const auto comm = make_stream_communicator(world(), -1);
    constexpr std::size_t large = 24 << 20;
    HostPlace place(large);
    for (const Call call : collective_calls) {
        Batch batch(comm->rank(), comm->size(), large);
        for (const std::int64_t count : {65537, 1'100'003})
            ASSERT_TRUE(batch.add({call, ElementType::Float32, Reduction::Sum, count, count % 2 == 0, 1,
                                   comm->size() - 1, 0, 5}));
        run(*comm, batch, place);
    }
}

TEST(StreamHost, HandlesRandomCallsOfTwoCommunicators) {
    const auto first = make_stream_communicator(world(), -1);
    const auto second = make_stream_communicator(world(), -1);
    HostPlace place(room), other(room);
    std::mt19937 random(1);
    for (int calls = 0; calls < 10'000;) {
        Batch batch(first->rank(), first->size(), room), other_batch(first->rank(), first->size(), room);
        while (batch.size() < 500 && batch.add(random_case(random, first->size(), 3000, first->size() > 1))) {
        }
        while (other_batch.size() < 500 &&
               other_batch.add(random_case(random, first->size(), 3000, first->size() > 1))) {
        }
        calls += static_cast<int>(batch.size() + other_batch.size());
        batch.load(place);
        other_batch.load(other);
        batch.enqueue(*first, place);
        other_batch.enqueue(*second, other);
        ASSERT_EQ(batch.check(place), "");
        ASSERT_EQ(other_batch.check(other), "");
    }
}

TEST(StreamHost, SumsHalvesInFloat) {
    const auto comm = make_stream_communicator(world(), -1);
    if (comm->size() < 3) GTEST_SKIP() << "needs three ranks";
    // 2048 + 1 is 2048 in fp16; 2048 + 1 + ... rounded once is not.
    std::uint16_t in = half_from_float(comm->rank() == 0 ? 2048.0f : 1.0f), out = 0;
    comm->all_reduce(&in, &out, 1, ElementType::Float16, Reduction::Sum, StreamRef::host());
    EXPECT_EQ(out, half_from_float(2048.0f + static_cast<float>(comm->size() - 1)));
}

TEST(StreamHost, WorksInGroupsOfASplitWorld) {
    const Communicator half = world().split(world().rank() % 2);
    const auto comm = make_stream_communicator(half, -1);
    EXPECT_EQ(comm->rank(), world().rank() / 2);
    const std::int32_t mine = world().rank();
    std::int32_t sum = -1, expected = 0;
    for (int r = world().rank() % 2; r < world().size(); r += 2) expected += r;
    comm->all_reduce(&mine, &sum, 1, ElementType::Int32, Reduction::Sum, StreamRef::host());
    EXPECT_EQ(sum, expected);
}

TEST(StreamHost, BarrierReportsWhetherAllCame) {
    EXPECT_TRUE(world().barrier(30));
}

TEST(StreamHost, AcceptsEmptyCallsAndRejectsWrongArguments) {
    const auto comm = make_stream_communicator(world(), -1);
    comm->all_reduce(nullptr, nullptr, 0, ElementType::Float32, Reduction::Sum, StreamRef::host());
    comm->all_gather(nullptr, nullptr, 0, ElementType::Byte, StreamRef::host());
    EXPECT_THROW(
        comm->all_reduce(nullptr, nullptr, -1, ElementType::Float32, Reduction::Sum, StreamRef::host()),
        CommError);
    char byte = 0;
    EXPECT_THROW(comm->send(&byte, 1, ElementType::Byte, comm->size(), StreamRef::host()), CommError);
    if (comm->size() > 1) {
        EXPECT_THROW(comm->all_reduce(&byte, &byte, 1, ElementType::Byte, Reduction::Sum, StreamRef::host()),
                     CommError);
    }
}

TEST(StreamHost, NoticesAnAbsentPeerByTheDeadline) {
    if (world().size() == 1) GTEST_SKIP() << "needs two ranks";
    StreamOptions options;
    options.deadline_s = 0.3;
    for (const std::int64_t count :
         {1, 1 << 20}) {  // MPI sends short messages at once and waits with long ones
        const auto comm = make_stream_communicator(world(), -1, options);
        auto& memory =
            *new std::vector<int>(static_cast<std::size_t>(2 * count), 1);  // MPI keeps it from now on
        int *in = memory.data(), *out = in + count;
        if (comm->rank() != 0) {
            try {
                comm->all_reduce(in, out, count, ElementType::Int32, Reduction::Sum, StreamRef::host());
                ADD_FAILURE() << "waited for nobody, and went on";
            } catch (const CommError& e) {
                EXPECT_NE(std::string(e.what()).find("rank 0"), std::string::npos) << e.what();
            }
            EXPECT_THROW(comm->check(), CommError);
            EXPECT_THROW(comm->broadcast(in, out, 1, ElementType::Int32, 0, StreamRef::host()), CommError);
        } else {
            comm->check();
        }
        EXPECT_TRUE(world().barrier(30));
    }
}

TEST(StreamHost, AbortEndsTheGroup) {
    const auto comm = make_stream_communicator(world(), -1);
    comm->abort();
    EXPECT_THROW(comm->check(), CommError);
}

int main(int argc, char** argv) {
    return voltpile::test::run_mpi_tests(argc, argv);
}
