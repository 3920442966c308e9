#include "comm/collective/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#if VOLTPILE_CUDA
#include "comm/collective/enqueue.h"
#include "comm/collective/graph.h"
#include "comm/collective/nccl_communicator.h"
#include "comm/collective/selector.h"
#include "comm/collective/staged_communicator.h"
#include "device/buffer.h"
#include "device/device.h"
#endif

namespace voltpile {

double bus_factor(Collective collective, int ranks) {
    const double n = ranks;
    switch (collective) {
        case Collective::AllReduce:
            return 2 * (n - 1) / n;
        case Collective::AllGather:
        case Collective::ReduceScatter:
        case Collective::AllToAll:
            return (n - 1) / n;
        case Collective::Broadcast:
            break;
    }
    return 1;
}

std::string to_text(const std::vector<CollectiveBenchRow>& rows) {
    std::vector<std::string> ways;
    std::vector<std::int64_t> sizes;
    for (const CollectiveBenchRow& row : rows) {
        if (std::ranges::find(ways, row.way) == ways.end()) ways.push_back(row.way);
        if (std::ranges::find(sizes, row.bytes) == sizes.end()) sizes.push_back(row.bytes);
    }
    if (rows.empty()) return "";
    std::string text = fmt::format("{}, {}: microseconds a call\n{:>10}", name_of(rows[0].collective),
                                   rows[0].on_host    ? "host memory"
                                   : rows[0].in_graph ? "GPU memory, in a graph"
                                                      : "GPU memory, without a graph",
                                   "bytes");
    for (const std::string& way : ways)
        text += fmt::format(" {:>{}}", way, std::max<std::size_t>(9, way.size()));
    text += "  best bus GB/s\n";
    for (const std::int64_t bytes : sizes) {
        text += fmt::format("{:>10}", bytes);
        double best = 0;
        for (const std::string& way : ways) {
            std::string cell = "-";
            for (const CollectiveBenchRow& row : rows)
                if (row.way == way && row.bytes == bytes) {
                    cell = fmt::format("{:.2f}", 1e6 * row.seconds);
                    best = std::max(best, row.bus_bytes_per_s);
                }
            text += fmt::format(" {:>{}}", cell, std::max<std::size_t>(9, way.size()));
        }
        text += fmt::format("  {:.1f}\n", 1e-9 * best);
    }
    return text;
}

#if VOLTPILE_CUDA

namespace {

constexpr const char *chosen_name = "auto", *staged_name = "mpi";

struct Contender {
    std::string name;
    StreamCommunicator* by;
    std::optional<PeerPlan> plan;
};

}  // namespace

std::vector<std::string> collective_way_names(Collective collective, int ranks) {
    std::vector<std::string> names{chosen_name, staged_name};
    for (const CollectiveWay& way : possible_ways(collective, ranks, !nccl_version().empty(), true))
        names.push_back(to_text(way));
    return names;
}

std::vector<CollectiveBenchRow> bench_collective(const Communicator& group, int device, Collective collective,
                                                 const CollectiveBenchOptions& options) {
    use_device(device);
    std::string why_not;
    std::unique_ptr<PeerCommunicator> peer;
    if (auto memory = PeerMemory::map(group, device, why_not))
        peer = std::make_unique<PeerCommunicator>(group, std::move(memory), 60);
    std::unique_ptr<StreamCommunicator> nccl;
    if (nccl_on_all(group)) nccl = make_nccl_communicator(group, 60);
    if (!nccl && !peer) throw CommError("nothing to measure between these GPUs: " + why_not);
    const auto chosen = make_stream_communicator(group, device);

    std::vector<Contender> contenders;
    for (const CollectiveWay& way : possible_ways(collective, group.size(), nccl != nullptr, peer != nullptr))
        contenders.push_back(
            {to_text(way), way.nccl ? nccl.get() : peer.get(),
             way.nccl ? std::nullopt : std::optional(PeerPlan{way.wire, way.two_shot, {0, 0}})});
    contenders.push_back({chosen_name, chosen.get(), std::nullopt});

    const auto staged = std::make_unique<StagedCommunicator>(group, 60);
    contenders.push_back({staged_name, staged.get(), std::nullopt});
    std::erase_if(contenders,
                  [&](const Contender& each) { return each.name.find(options.path) == std::string::npos; });

    const bool parts = counts_parts(collective);
    const Stream stream;
    DeviceBuffer<char> in(static_cast<std::size_t>(options.max_bytes * (parts ? group.size() : 1)));
    DeviceBuffer<char> out(in.size());
    set_to_zero(in.data(), in.size(), stream);

    std::vector<CollectiveBenchRow> rows;
    for (std::int64_t bytes = options.min_bytes; bytes <= options.max_bytes; bytes *= options.factor)
        for (const Contender& contender : contenders) {
            if (contender.plan) peer->set_plan(&*contender.plan);
            const auto enqueue = [&] {
                enqueue_collective(*contender.by, collective, in.data(), out.data(), bytes, stream);
            };
            const double about = slowest_of(group, seconds_eager(stream, 1, 3, enqueue));
            const int calls = std::clamp(static_cast<int>(1e-3 / about), 1, 50);
            const int launches =
                std::clamp(static_cast<int>(options.seconds_per_point / (about * calls)), 3, 100);
            const auto round = [&] {
                for (int k = 0; k < calls; ++k) enqueue();
            };
            CollectiveBenchRow row{collective, contender.name, bytes, options.in_graph};
            row.seconds =
                slowest_of(group, options.in_graph ? seconds_in_graph(stream, calls, launches, round)
                                                   : seconds_eager(stream, calls, launches, round));
            row.algorithm_bytes_per_s = static_cast<double>(bytes * (parts ? group.size() : 1)) / row.seconds;
            row.bus_bytes_per_s = row.algorithm_bytes_per_s * bus_factor(collective, group.size());
            rows.push_back(row);
        }
    return rows;
}

std::vector<ShapeBenchRow> bench_shapes(const Communicator& group, int device,
                                        const std::vector<std::int64_t>& sizes) {
    use_device(device);
    std::string why_not;
    auto memory = PeerMemory::map(group, device, why_not);
    if (!memory) throw CommError("no kernels between these GPUs: " + why_not);
    PeerCommunicator peer(group, std::move(memory), 60);
    const Stream stream;
    DeviceBuffer<char> in(static_cast<std::size_t>(std::ranges::max(sizes)));
    DeviceBuffer<char> out(in.size());
    set_to_zero(in.data(), in.size(), stream);

    constexpr int calls = 20, launches = 5;
    std::vector<ShapeBenchRow> rows;
    for (const std::int64_t bytes : sizes)
        for (const CollectiveWay& way : possible_ways(Collective::AllReduce, group.size(), false, true))
            for (const int blocks : {1, 2, 4, 8, 16, 32, 64})
                for (const int threads : {128, 256, 512}) {
                    const PeerPlan plan{way.wire, way.two_shot, {blocks, threads}};
                    peer.set_plan(&plan);
                    const double seconds =
                        slowest_of(group, seconds_in_graph(stream, calls, launches, [&] {
                                       for (int k = 0; k < calls; ++k)
                                           enqueue_collective(peer, Collective::AllReduce, in.data(),
                                                              out.data(), bytes, stream);
                                   }));
                    rows.push_back({to_text(way), blocks, threads, bytes, seconds});
                }
    return rows;
}

#else

std::vector<std::string> collective_way_names(Collective, int) {
    return {};
}

std::vector<CollectiveBenchRow> bench_collective(const Communicator&, int, Collective,
                                                 const CollectiveBenchOptions&) {
    throw CommError("this program was built without CUDA: there are no collectives on GPUs to measure");
}

std::vector<ShapeBenchRow> bench_shapes(const Communicator&, int, const std::vector<std::int64_t>&) {
    throw CommError("this program was built without CUDA: there are no collectives on GPUs to measure");
}

#endif

}  // namespace voltpile
