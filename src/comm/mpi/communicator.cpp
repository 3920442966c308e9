#include "comm/mpi/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/link_fault.h"

namespace voltpile {

struct Communicator::Owned {
    MPI_Comm comm = MPI_COMM_NULL;
    bool abandoned = false;

    explicit Owned(MPI_Comm mine) : comm(mine) {}
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() {
        int finished = 0;
        MPI_Finalized(&finished);
        if (!finished && !abandoned) MPI_Comm_free(&comm);
    }
};

// The thread that makes all calls of one or more communicators.
class Communicator::Owner {
  public:
    void check() {
        const std::thread::id mine = std::this_thread::get_id();
        std::thread::id owner = thread_.load(std::memory_order_relaxed);
        if (owner == mine) return;
        if (owner == std::thread::id() && thread_.compare_exchange_strong(owner, mine)) return;
        throw std::logic_error("a thread calls MPI on a communicator that another thread owns");
    }
    void release() { thread_.store({}); }

  private:
    std::atomic<std::thread::id> thread_ = std::this_thread::get_id();  // none: the next caller
};

Communicator::Communicator(MPI_Comm comm) : owner_(std::make_shared<Owner>()), comm_(comm) {
    mpi_check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    mpi_check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    mpi_check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

Communicator Communicator::split(int color) const {
    MPI_Comm part = MPI_COMM_NULL;
    mpi_check(MPI_Comm_split(mpi(), color, rank_, &part), "MPI_Comm_split");
    auto owned = std::make_shared<Owned>(part);
    Communicator group(part);
    group.owned_ = std::move(owned);
    if (owned_) group.owner_ = owner_;  // else this is the world, whose owner never changes
    return group;
}

void Communicator::hand_over() const {
    owner_->check();
    if (!owned_) throw std::logic_error("the world stays with the main thread");
    owner_->release();
}

void Communicator::set_own_thread() {
    owner_->check();
    owner_ = std::make_shared<Owner>();
    owner_->release();
}

MPI_Comm Communicator::mpi() const {
    owner_->check();
    return comm_;
}

void Communicator::abandon() const {
    if (owned_) owned_->abandoned = true;
}

bool Communicator::barrier(double timeout_s) const {
    using Clock = std::chrono::steady_clock;
    MPI_Request request = MPI_REQUEST_NULL;
    mpi_check(MPI_Ibarrier(mpi(), &request), "MPI_Ibarrier");
    const auto end = Clock::now() + std::chrono::duration<double>(timeout_s);
    for (;;) {
        int done = 0;
        mpi_check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done) return true;
        if (Clock::now() > end) return false;
        std::this_thread::yield();
    }
}

void Communicator::wait_asleep(const std::function<void()>& meanwhile) const {
    MPI_Request request = MPI_REQUEST_NULL;
    mpi_check(MPI_Ibarrier(mpi(), &request), "MPI_Ibarrier");
    for (int done = 0; !done; mpi_check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test")) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        meanwhile();
    }
}

std::string Communicator::broadcast(const std::string& bytes, int root) const {
    int length = rank_ == root ? mpi_length(bytes) : 0;
    mpi_check(MPI_Bcast(&length, 1, MPI_INT, root, mpi()), "MPI_Bcast");
    std::string out = rank_ == root ? bytes : std::string(static_cast<std::size_t>(length), '\0');
    mpi_check(MPI_Bcast(out.data(), length, MPI_BYTE, root, mpi()), "MPI_Bcast");
    return out;
}

std::vector<std::string> Communicator::all_gather(const std::string& bytes) const {
    const int length = mpi_length(bytes);
    std::vector<int> lengths(static_cast<std::size_t>(size_));
    mpi_check(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, mpi()), "MPI_Allgather");
    std::vector<int> starts;
    int total = 0;
    for (int each : lengths) {
        starts.push_back(total);
        total += each;
    }
    std::string all(static_cast<std::size_t>(total), '\0');
    mpi_check(MPI_Allgatherv(bytes.data(), length, MPI_BYTE, all.data(), lengths.data(), starts.data(),
                             MPI_BYTE, mpi()),
              "MPI_Allgatherv");
    std::vector<std::string> out;
    for (std::size_t i = 0; i < lengths.size(); ++i)
        out.push_back(all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(lengths[i])));
    return out;
}

void Communicator::send(int to, int tag, const std::string& bytes) const {
    if (to != rank_ && message_lost()) return;
    mpi_check(MPI_Send(bytes.data(), mpi_length(bytes), MPI_BYTE, to, tag, mpi()), "MPI_Send");
}

std::optional<Message> Communicator::poll(int tag) const {
    int arrived = 0;
    MPI_Status status;
    mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, tag, mpi(), &arrived, &status), "MPI_Iprobe");
    if (!arrived) return std::nullopt;
    int length = 0;
    mpi_check(MPI_Get_count(&status, MPI_BYTE, &length), "MPI_Get_count");
    Message message{status.MPI_SOURCE, std::string(static_cast<std::size_t>(length), '\0')};
    mpi_check(MPI_Recv(message.bytes.data(), length, MPI_BYTE, message.from, tag, mpi(), MPI_STATUS_IGNORE),
              "MPI_Recv");
    return message;
}

Message Communicator::wait_for(int tag, std::chrono::microseconds patience) const {
    using Clock = std::chrono::steady_clock;
    // Between looks. They grow with the time waited, because many milliseconds without a message are likely
    // to be followed by more, and 10,000 looks a second keep a core busy.
    constexpr std::chrono::microseconds least_tick{100}, most_tick{1000};
    constexpr int looks = 64;
    const auto sleep_from = Clock::now() + patience;
    for (;;) {
        if (auto message = poll(tag)) return std::move(*message);
        const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - sleep_from);
        if (waited.count() < 0)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::clamp(waited / looks, least_tick, most_tick));
    }
}

void mpi_check(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw CommError(
        fmt::format("{} failed: {}", call, std::string_view(text, static_cast<std::size_t>(length))));
}

int mpi_length(const std::string& bytes) {
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw CommError(fmt::format("a message of {} bytes is too long for MPI", bytes.size()));
    return static_cast<int>(bytes.size());
}

}  // namespace voltpile
