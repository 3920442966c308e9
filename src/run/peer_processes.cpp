#include "run/peer_processes.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/host_name.h"
#include "base/message_bytes.h"

namespace voltpile {
namespace {

// The namespace in which process ids mean the same: "pid:[4026531836]".
std::string pid_namespace() {
    std::array<char, 64> name{};
    const ssize_t length = readlink("/proc/self/ns/pid", name.data(), name.size());
    return length > 0 ? std::string(name.data(), static_cast<std::size_t>(length)) : "";
}

}  // namespace

PeerProcesses::PeerProcesses(const Communicator& world) {
    const std::string host = host_identity(), space = pid_namespace();
    MessageWriter mine;
    mine.text(host);
    mine.text(space);
    mine.value(getpid());
    const std::vector<std::string> all = world.all_gather(mine.take());
    for (int rank = 0; rank < world.size(); ++rank) {
        MessageReader reader(all[static_cast<std::size_t>(rank)], "a process");
        here_.push_back(reader.text() == host);
        const bool same_ids = reader.text() == space && !space.empty();
        const auto pid = reader.value<pid_t>();
        if (!here_.back() || !same_ids || rank == world.rank()) continue;
        const auto process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
        if (process >= 0) processes_[rank] = process;
    }
}

PeerProcesses::~PeerProcesses() {
    for (const auto& [rank, process] : processes_) close(process);
}

std::vector<int> PeerProcesses::ended() const {
    std::vector<pollfd> polled;
    for (const auto& [rank, process] : processes_) polled.push_back({process, POLLIN, 0});
    std::vector<int> ranks;
    if (polled.empty() || poll(polled.data(), polled.size(), 0) <= 0) return ranks;
    std::size_t i = 0;
    for (const auto& [rank, process] : processes_)
        if (polled[i++].revents != 0) ranks.push_back(rank);
    return ranks;
}

}  // namespace voltpile
