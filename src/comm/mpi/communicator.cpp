#include "comm/mpi/communicator.h"

#include <chrono>
#include <thread>

#include "comm/mpi/check.h"

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

Communicator::Communicator(MPI_Comm comm) : comm_(comm) {
    mpi_check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    mpi_check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    mpi_check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

Communicator Communicator::split(int color) const {
    MPI_Comm part = MPI_COMM_NULL;
    mpi_check(MPI_Comm_split(comm_, color, rank_, &part), "MPI_Comm_split");
    auto owner = std::make_shared<Owned>(part);
    Communicator group(part);
    group.owned_ = std::move(owner);
    return group;
}

void Communicator::abandon() const {
    if (owned_) owned_->abandoned = true;
}

bool Communicator::barrier(double timeout_s) const {
    using Clock = std::chrono::steady_clock;
    MPI_Request request = MPI_REQUEST_NULL;
    mpi_check(MPI_Ibarrier(comm_, &request), "MPI_Ibarrier");
    const auto end = Clock::now() + std::chrono::duration<double>(timeout_s);
    for (;;) {
        int done = 0;
        mpi_check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done) return true;
        if (Clock::now() > end) return false;
        std::this_thread::yield();
    }
}

void Communicator::wait_asleep() const {
    MPI_Request request = MPI_REQUEST_NULL;
    mpi_check(MPI_Ibarrier(comm_, &request), "MPI_Ibarrier");
    for (int done = 0; !done; mpi_check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test"))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::string Communicator::broadcast(const std::string& bytes, int root) const {
    int length = rank_ == root ? mpi_length(bytes) : 0;
    mpi_check(MPI_Bcast(&length, 1, MPI_INT, root, comm_), "MPI_Bcast");
    std::string out = rank_ == root ? bytes : std::string(static_cast<std::size_t>(length), '\0');
    mpi_check(MPI_Bcast(out.data(), length, MPI_BYTE, root, comm_), "MPI_Bcast");
    return out;
}

std::vector<std::string> Communicator::all_gather(const std::string& bytes) const {
    const int length = mpi_length(bytes);
    std::vector<int> lengths(static_cast<std::size_t>(size_));
    mpi_check(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm_), "MPI_Allgather");
    std::vector<int> starts;
    int total = 0;
    for (int each : lengths) {
        starts.push_back(total);
        total += each;
    }
    std::string all(static_cast<std::size_t>(total), '\0');
    mpi_check(MPI_Allgatherv(bytes.data(), length, MPI_BYTE, all.data(), lengths.data(), starts.data(),
                             MPI_BYTE, comm_),
              "MPI_Allgatherv");
    std::vector<std::string> out;
    for (std::size_t i = 0; i < lengths.size(); ++i)
        out.push_back(all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(lengths[i])));
    return out;
}

void Communicator::send(int to, int tag, const std::string& bytes) const {
    mpi_check(MPI_Send(bytes.data(), mpi_length(bytes), MPI_BYTE, to, tag, comm_), "MPI_Send");
}

std::optional<Message> Communicator::poll(int tag) const {
    int arrived = 0;
    MPI_Status status;
    mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_, &arrived, &status), "MPI_Iprobe");
    if (!arrived) return std::nullopt;
    int length = 0;
    mpi_check(MPI_Get_count(&status, MPI_BYTE, &length), "MPI_Get_count");
    Message message{status.MPI_SOURCE, std::string(static_cast<std::size_t>(length), '\0')};
    mpi_check(MPI_Recv(message.bytes.data(), length, MPI_BYTE, message.from, tag, comm_, MPI_STATUS_IGNORE),
              "MPI_Recv");
    return message;
}

}  // namespace voltpile
