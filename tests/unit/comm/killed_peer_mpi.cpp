// A rank is killed during its work: all others must notice in time, in a collective and in a channel.
// killed_peer.sh runs it under an mpirun that lets the others continue. Each prints "noticed in time".
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>

#include "base/error.h"
#include "comm/channel/group.h"
#include "comm/collective/stream_communicator.h"
#include "comm/mpi/session.h"

using namespace voltpile;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds deadline{1500}, margin{1500};  // the machine may be busy

bool fails_in_time(const std::string& name, const std::function<void()>& call) {
    const auto begin = Clock::now();
    try {
        call();
    } catch (const CommError& error) {
        const bool named = std::string(error.what()).find(name) != std::string::npos;
        if (!named) fmt::print("does not name {}: {}\n", name, error.what());
        return named && Clock::now() - begin < deadline + margin;
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    const MpiSession session(argc, argv);
    const Communicator& world = session.world();
    const int last = world.size() - 1;
    StreamOptions options;
    options.deadline_s = std::chrono::duration<double>(deadline).count();
    const auto comm = make_stream_communicator(world, -1, options);
    ChannelOptions channel_options;
    channel_options.deadline = deadline;
    ChannelGroup channels(world, channel_options);
    std::int32_t in = 1, out = 0, came = 0;
    const auto reduce = [&] {
        comm->all_reduce(&in, &out, 1, ElementType::Int32, Reduction::Sum, StreamRef::host());
    };
    reduce();
    Channel& channel = channels.channel(world.rank() == last ? 0 : last);
    world.all_gather("");
    if (world.rank() == last) raise(SIGKILL);
    const std::string name = fmt::format("rank {}", last);
    const Transfer transfer = channel.receive(host_memory(&came, sizeof came));
    if (fails_in_time(name, reduce) && fails_in_time(name, [&] { transfer.wait(); }))
        fmt::print("noticed in time\n");
    std::fflush(stdout);
    _exit(0);  // MPI cannot finalize any more
}
