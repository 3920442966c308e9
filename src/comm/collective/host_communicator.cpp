#include "comm/collective/host_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/format.h"
#include "base/link_fault.h"
#include "base/phase.h"
#include "comm/collective/reduce.h"
#include "comm/mpi/message_tags.h"

namespace voltpile {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t piece_bytes = 4
                                     << 20;  // bounds the memory for partial sums, and MPI's counts are ints

}  // namespace

HostCommunicator::HostCommunicator(const Communicator& group, double deadline_s)
    : mpi_(group.split(0)), group_(group), deadline_s_(deadline_s) {}

HostCommunicator::~HostCommunicator() {
    if (group_.failed()) mpi_.abandon();
    if (left_unfinished_) new std::vector<char>(std::move(scratch_));
}

void HostCommunicator::wait(std::vector<MPI_Request>& requests) {
    const auto end = Clock::now() + std::chrono::duration<double>(deadline_s_);
    for (;;) {
        int done = 0;
        mpi_check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
                  "MPI_Testall");
        if (done) return;
        const bool late = Clock::now() > end;
        if (late || group_.failed()) {
            if (!group_.failed())
                group_.fail(fmt::format("a collective with {} did not finish within {}", group_.others_text(),
                                        duration_text(deadline_s_)));
            throw CommError(group_.failure_text());
        }
        std::this_thread::yield();
    }
}

// MPI can cancel receives that nothing has arrived for, but no sends. A message that a live peer has begun
// ends soon.
void HostCommunicator::take_back(std::span<MPI_Request> requests, std::size_t receives) noexcept {
    constexpr std::chrono::milliseconds patience{100}, tick{1};
    for (std::size_t i = 0; i < std::min(receives, requests.size()); ++i)
        if (requests[i] != MPI_REQUEST_NULL) MPI_Cancel(&requests[i]);
    const auto end = Clock::now() + patience;
    for (;;) {
        bool all_done = true;
        for (MPI_Request& each : requests) {
            int done = 0;
            if (MPI_Test(&each, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done) all_done = false;
        }
        if (all_done) return;
        if (Clock::now() > end) break;
        std::this_thread::sleep_for(tick);
    }
    left_unfinished_ = true;
}

void HostCommunicator::exchange(std::span<const Part> sends, std::span<const Part> receives, int tag) {
    const InPhase waiting(Phase::Collective);
    std::vector<MPI_Request> requests;
    try {
        for (const Part& part : receives) {
            requests.push_back(MPI_REQUEST_NULL);
            mpi_check(MPI_Irecv(part.data, static_cast<int>(part.bytes), MPI_BYTE, part.peer, tag, mpi_.mpi(),
                                &requests.back()),
                      "MPI_Irecv");
        }
        for (const Part& part : sends) {
            if (message_lost()) continue;
            requests.push_back(MPI_REQUEST_NULL);
            mpi_check(MPI_Isend(part.data, static_cast<int>(part.bytes), MPI_BYTE, part.peer, tag, mpi_.mpi(),
                                &requests.back()),
                      "MPI_Isend");
        }
        wait(requests);
    } catch (const CommError&) {
        take_back(requests, receives.size());
        throw;
    }
}

void HostCommunicator::reduce_share(const char* in, std::int64_t stride, std::span<const std::int64_t> counts,
                                    ElementType type, Reduction reduction) {
    const std::int64_t mine = counts[static_cast<std::size_t>(rank())];
    const std::int64_t bytes = mine * size_of(type);
    scratch_.resize(static_cast<std::size_t>(bytes * size()));
    std::vector<Part> sends, receives;
    std::vector<const void*> parts;
    for (int r = 0; r < size(); ++r) {
        char* theirs = scratch_.data() + r * bytes;
        char* for_them = const_cast<char*>(in) + r * stride;
        parts.push_back(r == rank() ? for_them : theirs);
        if (r == rank()) continue;
        sends.push_back({r, for_them, counts[static_cast<std::size_t>(r)] * size_of(type)});
        receives.push_back({r, theirs, bytes});
    }
    exchange(sends, receives, kCollectiveTag);
    reduce_in_order(parts, scratch_.data(), mine, type, reduction);
}

void HostCommunicator::all_reduce(const void* in, void* out, std::int64_t count, ElementType type,
                                  Reduction reduction, StreamRef) {
    if (!group_.begin_reduction(count, type)) return;
    const std::int64_t element = size_of(type),
                       share = std::max<std::int64_t>(1, piece_bytes / element / size());
    for (std::int64_t begin = 0; begin < count; begin += share * size()) {
        const std::int64_t length = std::min(share * size(), count - begin);
        const std::int64_t each = (length + size() - 1) / size();
        std::vector<std::int64_t> counts;
        for (int r = 0; r < size(); ++r)
            counts.push_back(std::clamp<std::int64_t>(length - r * each, 0, each));
        reduce_share(static_cast<const char*>(in) + begin * element, each * element, counts, type, reduction);

        char* to = static_cast<char*>(out) + begin * element;
        const std::int64_t bytes = counts[static_cast<std::size_t>(rank())] * element;
        std::copy_n(scratch_.data(), bytes, to + rank() * each * element);  // may be empty
        std::vector<Part> sends, receives;
        for (int r = 0; r < size(); ++r) {
            if (r == rank()) continue;
            sends.push_back({r, scratch_.data(), bytes});
            receives.push_back({r, to + r * each * element, counts[static_cast<std::size_t>(r)] * element});
        }
        exchange(sends, receives, kCollectiveTag);
    }
}

void HostCommunicator::reduce_scatter(const void* in, void* out, std::int64_t count, ElementType type,
                                      Reduction reduction, StreamRef) {
    if (!group_.begin_reduction(count, type)) return;
    const std::int64_t element = size_of(type), most = piece_bytes / element;
    for (std::int64_t begin = 0; begin < count; begin += most) {
        const std::int64_t length = std::min(most, count - begin);
        const std::vector<std::int64_t> counts(static_cast<std::size_t>(size()), length);
        reduce_share(static_cast<const char*>(in) + begin * element, count * element, counts, type,
                     reduction);
        std::memcpy(static_cast<char*>(out) + begin * element, scratch_.data(),
                    static_cast<std::size_t>(length * element));
    }
}

void HostCommunicator::all_gather(const void* in, void* out, std::int64_t count, ElementType type,
                                  StreamRef) {
    if (!group_.begin(count)) return;
    const std::int64_t bytes = count * size_of(type);
    char* own = static_cast<char*>(out) + rank() * bytes;
    if (own != in) std::memcpy(own, in, static_cast<std::size_t>(bytes));
    for (std::int64_t begin = 0; begin < bytes; begin += piece_bytes) {
        const std::int64_t length = std::min(piece_bytes, bytes - begin);
        std::vector<Part> sends, receives;
        for (int r = 0; r < size(); ++r) {
            if (r == rank()) continue;
            sends.push_back({r, own + begin, length});
            receives.push_back({r, static_cast<char*>(out) + r * bytes + begin, length});
        }
        exchange(sends, receives, kCollectiveTag);
    }
}

void HostCommunicator::all_to_all(const void* in, void* out, std::int64_t count, ElementType type,
                                  StreamRef) {
    if (!group_.begin(count)) return;
    const std::int64_t bytes = count * size_of(type);
    char* const from = static_cast<char*>(const_cast<void*>(in));
    char* const to = static_cast<char*>(out);
    std::memcpy(to + rank() * bytes, from + rank() * bytes, static_cast<std::size_t>(bytes));
    for (std::int64_t begin = 0; begin < bytes; begin += piece_bytes) {
        const std::int64_t length = std::min(piece_bytes, bytes - begin);
        std::vector<Part> sends, receives;
        for (int r = 0; r < size(); ++r) {
            if (r == rank()) continue;
            sends.push_back({r, from + r * bytes + begin, length});
            receives.push_back({r, to + r * bytes + begin, length});
        }
        exchange(sends, receives, kCollectiveTag);
    }
}

void HostCommunicator::broadcast(const void* in, void* out, std::int64_t count, ElementType type, int root,
                                 StreamRef) {
    if (!group_.begin_with_peer(count, root)) return;
    const std::int64_t bytes = count * size_of(type);
    if (rank() == root && in != out) std::memcpy(out, in, static_cast<std::size_t>(bytes));
    for (std::int64_t begin = 0; begin < bytes; begin += piece_bytes) {
        const std::int64_t length = std::min(piece_bytes, bytes - begin);
        std::vector<Part> sends, receives;
        char* at = static_cast<char*>(out) + begin;
        if (rank() != root) receives.push_back({root, at, length});
        for (int r = 0; rank() == root && r < size(); ++r)
            if (r != root) sends.push_back({r, at, length});
        exchange(sends, receives, kCollectiveTag);
    }
}

void HostCommunicator::send(const void* in, std::int64_t count, ElementType type, int to, StreamRef) {
    if (!group_.begin_with_peer(count, to)) return;
    const std::int64_t bytes = count * size_of(type);
    for (std::int64_t begin = 0; begin < bytes; begin += piece_bytes) {
        const Part part{to, static_cast<char*>(const_cast<void*>(in)) + begin,
                        std::min(piece_bytes, bytes - begin)};
        exchange({&part, 1}, {}, kPointToPointTag);
    }
}

void HostCommunicator::receive(void* out, std::int64_t count, ElementType type, int from, StreamRef) {
    if (!group_.begin_with_peer(count, from)) return;
    const std::int64_t bytes = count * size_of(type);
    for (std::int64_t begin = 0; begin < bytes; begin += piece_bytes) {
        const Part part{from, static_cast<char*>(out) + begin, std::min(piece_bytes, bytes - begin)};
        exchange({}, {&part, 1}, kPointToPointTag);
    }
}

void HostCommunicator::check() {
    if (group_.failed()) throw CommError(group_.failure_text());
}

}  // namespace voltpile
