// bench_host_collective(): collectives on host memory.
#include <algorithm>
#include <chrono>
#include <functional>

#include "base/seconds_since.h"
#include "comm/collective/bench.h"
#include "comm/collective/enqueue.h"
#include "comm/collective/stream_communicator.h"

namespace voltpile {
namespace {

using Clock = std::chrono::steady_clock;
constexpr const char *own_collectives = "voltpile", *collectives_of_mpi = "mpi";

struct Buffers {
    std::vector<float> in, out;
};

// bytes: of each rank's part if counts_parts().
void call_ours(StreamCommunicator& by, Collective collective, Buffers& memory, std::int64_t bytes) {
    const std::int64_t count = bytes / 4;
    const StreamRef host = StreamRef::host();
    switch (collective) {
        case Collective::AllReduce:
            return by.all_reduce(memory.in.data(), memory.out.data(), count, ElementType::Float32,
                                 Reduction::Sum, host);
        case Collective::AllGather:
            return by.all_gather(memory.in.data(), memory.out.data(), count, ElementType::Float32, host);
        case Collective::ReduceScatter:
            return by.reduce_scatter(memory.in.data(), memory.out.data(), count, ElementType::Float32,
                                     Reduction::Sum, host);
        case Collective::AllToAll:
            return by.all_to_all(memory.in.data(), memory.out.data(), count, ElementType::Float32, host);
        case Collective::Broadcast:
            return by.broadcast(memory.in.data(), memory.in.data(), count, ElementType::Float32, 0, host);
    }
}

void call_mpi(MPI_Comm comm, Collective collective, Buffers& memory, std::int64_t bytes) {
    const int count = static_cast<int>(bytes / 4);
    switch (collective) {
        case Collective::AllReduce:
            MPI_Allreduce(memory.in.data(), memory.out.data(), count, MPI_FLOAT, MPI_SUM, comm);
            return;
        case Collective::AllGather:
            MPI_Allgather(memory.in.data(), count, MPI_FLOAT, memory.out.data(), count, MPI_FLOAT, comm);
            return;
        case Collective::ReduceScatter:
            MPI_Reduce_scatter_block(memory.in.data(), memory.out.data(), count, MPI_FLOAT, MPI_SUM, comm);
            return;
        case Collective::AllToAll:
            MPI_Alltoall(memory.in.data(), count, MPI_FLOAT, memory.out.data(), count, MPI_FLOAT, comm);
            return;
        case Collective::Broadcast:
            MPI_Bcast(memory.in.data(), count, MPI_FLOAT, 0, comm);
            return;
    }
}

double seconds_of(const std::function<void()>& call, int calls) {
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    return seconds_since(begin) / calls;
}

}  // namespace

std::vector<std::string> host_collective_way_names() {
    return {own_collectives, collectives_of_mpi};
}

std::vector<CollectiveBenchRow> bench_host_collective(const Communicator& group, Collective collective,
                                                      const CollectiveBenchOptions& options) {
    constexpr int repeats = 5;
    const auto ours = make_stream_communicator(group, -1);
    const bool parts = counts_parts(collective);
    const std::int64_t factor = parts ? group.size() : 1;
    Buffers memory;
    memory.in.resize(static_cast<std::size_t>(options.max_bytes / 4 * factor), 1.0f);
    memory.out.resize(memory.in.size());

    std::vector<CollectiveBenchRow> rows;
    const std::pair<std::string, std::function<void(std::int64_t)>> ways[] = {
        {own_collectives, [&](std::int64_t bytes) { call_ours(*ours, collective, memory, bytes); }},
        {collectives_of_mpi, [&](std::int64_t bytes) { call_mpi(group.mpi(), collective, memory, bytes); }},
    };
    for (std::int64_t bytes = options.min_bytes; bytes <= options.max_bytes; bytes *= options.factor)
        for (const auto& [name, way] : ways) {
            if (name.find(options.path) == std::string::npos) continue;
            const auto call = [&] { way(bytes); };
            call();  // warm up
            const double about = std::max(slowest_of(group, seconds_of(call, 1)), 1e-7);
            const int calls =
                std::clamp(static_cast<int>(options.seconds_per_point / (repeats * about)), 1, 1000);
            std::vector<double> times;
            for (int i = 0; i < repeats; ++i) times.push_back(seconds_of(call, calls));
            std::ranges::sort(times);
            CollectiveBenchRow row{collective, name, bytes};
            row.in_graph = false;
            row.on_host = true;
            row.seconds = slowest_of(group, times[repeats / 2]);
            row.algorithm_bytes_per_s = static_cast<double>(bytes * factor) / row.seconds;
            row.bus_bytes_per_s = row.algorithm_bytes_per_s * bus_factor(collective, group.size());
            rows.push_back(row);
        }
    return rows;
}

}  // namespace voltpile
