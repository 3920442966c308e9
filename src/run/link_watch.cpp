#include "run/link_watch.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/seconds_since.h"
#include "comm/mpi/message_tags.h"

namespace voltpile {
namespace {

constexpr double kSignInterval = 1;  // seconds
// Rank 0 ends the job and so comes first; the others only free their node.
constexpr double kPatienceOfRoot = 15, kPatienceOfOthers = 30;
constexpr double kLongestLook = 2;  // seconds between looks of a process that is not suspended

}  // namespace

std::optional<int> SilenceClock::silent(double now_s) {
    const bool suspended = now_s - last_look_s_ > kLongestLook;
    last_look_s_ = now_s;
    for (std::size_t rank = 0; rank < heard_s_.size(); ++rank) {
        std::optional<double>& heard = heard_s_[rank];
        if (!heard) continue;
        if (suspended) heard = now_s;
        if (now_s - *heard > patience_s_) return static_cast<int>(rank);
    }
    return std::nullopt;
}

bool LinkWatch::needed() {
    const char* here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    const char* all = std::getenv("OMPI_COMM_WORLD_SIZE");
    return here && all && std::atoi(here) < std::atoi(all) && !std::getenv("SLURM_JOB_ID");
}

LinkWatch::LinkWatch(const Communicator& world, const Plan& plan)
    : world_(world),
      plan_(plan),
      clock_(world.size(), world.rank() == 0 ? kPatienceOfRoot : kPatienceOfOthers) {
    for (int rank = 0; rank < world.size(); ++rank)
        if (rank != world.rank() && (rank == 0 || world.rank() == 0)) others_.push_back(rank);
    for (const int rank : others_) clock_.heard(rank, 0);
}

double LinkWatch::seconds() const {
    return seconds_since(begin_);
}

void LinkWatch::look() {
    const double now = seconds();
    if (now - sent_s_ >= kSignInterval) {
        sent_s_ = now;
        for (const int rank : others_) world_.send(rank, kAliveTag, "");
    }
    while (const auto message = world_.poll(kAliveTag)) clock_.heard(message->from, now);
    const auto rank = clock_.silent(now);
    if (!rank) return;
    const std::string& host = plan_.host_of(plan_.ranks[static_cast<std::size_t>(*rank)]).name;
    throw LostLink(
        fmt::format("rank {} on {} has not answered for {:g} s: its node is down or the link to it is cut; "
                    "run the same command "
                    "again to go on",
                    *rank, host, world_.rank() == 0 ? kPatienceOfRoot : kPatienceOfOthers));
}

void LinkWatch::finished(int rank) {
    clock_.forget(rank);
    std::erase(others_, rank);
}

}  // namespace voltpile
