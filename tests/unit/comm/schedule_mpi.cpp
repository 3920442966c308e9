// Random schedules of collectives and channel transfers with random delays, the same on all ranks: none may
// hang, and every byte is checked. Run under mpirun at 1, 2 and 4 ranks (tests/CMakeLists.txt).
// VOLTPILE_TEST_SCHEDULES: the number of schedules (5000, so that 2 and 4 ranks make 10,000).
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/host_name.h"
#include "comm/channel/group.h"
#include "device/device.h"
#include "mpi_tests.h"
#include "stream_places.h"

using namespace voltpile;
using voltpile::test::world;
using namespace voltpile::stream_test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t room = 64 << 10;

std::unique_ptr<Place> make_place(bool gpu, std::size_t bytes = room) {
    if (gpu) return std::make_unique<GpuPlace>(bytes);
    return std::make_unique<HostPlace>(bytes);
}

// One channel transfer as all ranks know it. Its data is at the same offset of the sender's `in` and of the
// receiver's `out`.
struct Message {
    int from, to, id;
    std::size_t at, bytes;
    int before_call;  // the call of the first batch before which it starts
    bool wait_at_once;
};

// Rank-dependent pauses: mostly none, now and then longer than a whole schedule.
class Pauses {
  public:
    explicit Pauses(unsigned seed) : random_(seed) {}
    void operator()() {
        const auto die = random_() % 400;
        if (die == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(random_() % 3000));
        else if (die < 20)
            std::this_thread::sleep_for(std::chrono::microseconds(random_() % 100));
        else if (die < 60)
            std::this_thread::yield();
    }

  private:
    std::mt19937 random_;
};

std::vector<char> contents(const std::vector<Message>& messages, int rank, unsigned seed, bool sent) {
    std::vector<char> bytes(room, static_cast<char>(0xee));
    for (const Message& m : messages)
        if ((sent ? m.from : m.to) == rank)
            for (std::size_t i = 0; i < m.bytes; ++i)
                bytes[m.at + i] = static_cast<char>(
                    value_of(seed + static_cast<unsigned>(m.at), m.from, static_cast<std::int64_t>(i)));
    return bytes;
}

std::vector<Message> random_messages(std::mt19937& random, int calls) {
    const auto size = static_cast<unsigned>(world().size());
    std::vector<Message> messages;
    const auto count = random() % 6;
    std::size_t at = 0;
    for (unsigned k = 0; k < count; ++k) {
        Message m{static_cast<int>(random() % size),
                  static_cast<int>(random() % size),
                  static_cast<int>(random() % 2),
                  at,
                  random() % (random() % 4 ? 500 : 12'000),
                  static_cast<int>(random() % calls),
                  random() % 2 == 0};
        if (m.from == m.to) m.wait_at_once = false;  // the receive comes before the send
        at += m.bytes;
        messages.push_back(m);
    }
    return messages;
}

// A world, its halves, and channels between all ranks, like a team of tensor-parallel groups and pipeline
// stages.
class Schedules : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        if (!VOLTPILE_UCX && world().size() > 1) GTEST_SKIP() << "built without UCX";
        gpu_ = GetParam();
        if (gpu_ && device_count() < world().size()) GTEST_SKIP() << "needs a GPU for each rank";
        const int device = gpu_ ? world().rank() : -1;
        if (gpu_) use_device(device);
        ChannelOptions options;
        options.gpu = device;
        channels_ = std::make_unique<ChannelGroup>(world(), options);
        all_ = make_stream_communicator(world(), device);
        half_ = make_stream_communicator(halves_, device);
        for (auto* place : {&all_place_, &half_place_, &message_place_}) *place = make_place(gpu_);
    }

    void run_schedule(unsigned seed) {
        std::mt19937 random(seed);
        Batch all(all_->rank(), all_->size(), room);
        const std::size_t calls = 1 + random() % 4;
        while (all.size() < calls && all.add(random_case(random, all_->size(), 300, all_->size() > 1))) {
        }
        Batch half(half_->rank(), half_->size(), room);
        // The halves run different calls, with other random numbers.
        std::mt19937 own(seed * 2 + static_cast<unsigned>(world().rank() % 2));
        for (unsigned k = own() % 4; k > 0; --k)
            half.add(random_case(own, half_->size(), 300, half_->size() > 1));
        const std::vector<Message> messages = random_messages(random, static_cast<int>(all.size()));

        message_place_->write(contents(messages, world().rank(), seed, true),
                              std::vector<char>(room, static_cast<char>(0xee)));
        all.load(*all_place_);
        half.load(*half_place_);
        const bool half_first = random() % 2;
        if (half_first) half.enqueue(*half_, *half_place_, [&](int) { pause_(); });
        std::vector<Transfer> open;
        all.enqueue(*all_, *all_place_, [&](int call) {
            pause_();
            for (const Message& m : messages)
                if (m.before_call == call) begin(m, open);
        });
        if (!half_first) half.enqueue(*half_, *half_place_, [&](int) { pause_(); });
        for (const Transfer& each : open) each.wait();

        std::vector<char> in(room), out(room);
        message_place_->read(in, out);
        ASSERT_EQ(out, contents(messages, world().rank(), seed, false)) << "schedule " << seed;
        ASSERT_EQ(all.check(*all_place_), "") << "schedule " << seed;
        ASSERT_EQ(half.check(*half_place_), "") << "schedule " << seed;
        all_->check();
        half_->check();
    }

  private:
    void begin(const Message& m, std::vector<Transfer>& open) {
        const MemoryKind kind = gpu_ ? MemoryKind::Gpu : MemoryKind::Host;
        const StreamRef ref = message_place_->stream();
        const Stream* after = ref.is_host() ? nullptr : &ref.stream();
        if (m.to == world().rank()) {
            open.push_back(channels_->channel(m.from, m.id)
                               .receive(Memory{message_place_->out() + m.at, m.bytes, kind}, after));
            if (m.wait_at_once) open.back().wait();
        }
        if (m.from == world().rank()) {
            pause_();
            open.push_back(channels_->channel(m.to, m.id)
                               .send(Memory{message_place_->in() + m.at, m.bytes, kind}, after));
            if (m.wait_at_once) open.back().wait();
        }
    }

    bool gpu_ = false;
    Pauses pause_{static_cast<unsigned>(world().rank())};
    Communicator halves_ = world().split(world().rank() % 2);
    std::unique_ptr<ChannelGroup> channels_;
    std::unique_ptr<StreamCommunicator> all_, half_;
    std::unique_ptr<Place> all_place_, half_place_, message_place_;
};

}  // namespace

TEST_P(Schedules, TransferEveryByteCorrectly) {
    const char* text = std::getenv("VOLTPILE_TEST_SCHEDULES");
    const unsigned count = text ? static_cast<unsigned>(std::atoi(text)) : 5000;
    for (unsigned seed = 1; seed <= count; ++seed) {
        run_schedule(seed);
        if (HasFatalFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Host, Schedules, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Gpu, Schedules, testing::Values(true));

namespace {

constexpr auto deadline = 1500ms;
constexpr auto margin = 1500ms;  // the machine may be busy

// Returns the CommError that `call` throws within the deadline.
template <class Call>
void expect_failure(Call call, const std::string& names) {
    const auto begin = Clock::now();
    try {
        call();
        ADD_FAILURE() << "no CommError";
    } catch (const CommError& error) {
        EXPECT_LT(Clock::now() - begin, deadline + margin) << error.what();
        EXPECT_NE(std::string(error.what()).find(names), std::string::npos) << error.what();
    }
}

}  // namespace

TEST(StoppedPeer, FailsCollectivesAndChannelsOfAllOthers) {
    if (!VOLTPILE_UCX) GTEST_SKIP() << "built without UCX";
    if (world().size() == 1) GTEST_SKIP() << "needs two ranks";
    const int last = world().size() - 1;
    const auto pids = world().all_gather(std::to_string(getpid()));
    {
        StreamOptions options;
        options.deadline_s = std::chrono::duration<double>(deadline).count();
        const auto comm = make_stream_communicator(world(), -1, options);
        ChannelOptions channel_options;
        channel_options.deadline = deadline;
        ChannelGroup channels(world(), channel_options);
        Channel& channel = channels.channel(world().rank() == last ? 0 : last);
        std::int32_t in = 1, out = 0;
        const auto reduce = [&] {
            comm->all_reduce(&in, &out, 1, ElementType::Int32, Reduction::Sum, StreamRef::host());
        };
        reduce();
        world().all_gather("");
        const std::string name = "rank " + std::to_string(last);
        if (world().rank() == last) {
            raise(SIGSTOP);
            // The others have given up on it, so its own collective fails too, whenever it comes.
            EXPECT_THROW(reduce(), CommError);
        } else {
            std::int32_t came = 0;
            const Transfer transfer = channel.receive(host_memory(&came, sizeof came));
            expect_failure(reduce, name);
            expect_failure([&] { transfer.wait(); }, name);
            expect_failure([&] { channel.send(host_memory(&in, sizeof in)); }, name);
            EXPECT_THROW(comm->check(), CommError);
            if (world().rank() == 0) {
                std::this_thread::sleep_for(deadline + margin);  // until all others have noticed
                kill(std::atoi(pids[static_cast<std::size_t>(last)].c_str()), SIGCONT);
            }
        }
    }
    world().all_gather("");
}

int main(int argc, char** argv) {
    return voltpile::test::run_mpi_tests(argc, argv);
}
