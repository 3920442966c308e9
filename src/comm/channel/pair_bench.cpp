#include "comm/channel/pair_bench.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/seconds_since.h"
#include "comm/channel/bench.h"
#include "comm/collective/enqueue.h"
#include "comm/collective/nccl_communicator.h"
#include "comm/collective/stream_communicator.h"
#include "comm/mpi/message_tags.h"
#include "device/buffer.h"
#include "device/device.h"
#if VOLTPILE_CUDA
#include "device/check.h"
#endif

namespace voltpile {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int window = 16, repeats = 5;
constexpr bool channel_there = VOLTPILE_UCX != 0;
constexpr const char *channel_name = "channel", *mpi_name = "mpi", *gpu_channel_name = "channel (GPU)",
                     *nccl_name = "nccl", *copy_name = "peer copy";

// Both ends call both functions with the same numbers. They return seconds per message one way, and bytes per
// second.
struct PairWay {
    std::string name;
    std::function<double(std::int64_t bytes, int rounds)> one_way;
    std::function<double(std::int64_t bytes, int count)> rate;
};

PairWay channel_way(std::string name, Channel& channel, bool first, Memory out, Memory in) {
    const auto part = [](Memory memory, std::int64_t bytes) {
        return Memory{memory.data, static_cast<std::size_t>(bytes), memory.kind};
    };
    return {std::move(name),
            [=, &channel](std::int64_t bytes, int rounds) {
                return one_way_seconds(channel, first, part(out, bytes), part(in, bytes), rounds);
            },
            [=, &channel](std::int64_t bytes, int count) {
                return bytes_per_second(channel, first, part(first ? out : in, bytes), count, window);
            }};
}

// MPI's own sends and receives on host memory.
PairWay mpi_way(const Communicator& pair, char* out, char* in) {
    const MPI_Comm comm = pair.mpi();
    const bool first = pair.rank() == 0;
    const int other = 1 - pair.rank();
    const auto one_way = [=](std::int64_t bytes, int rounds) {
        const int length = static_cast<int>(bytes);
        const auto begin = Clock::now();
        for (int i = 0; i < rounds; ++i) {
            if (first) MPI_Send(out, length, MPI_BYTE, other, kPairTag, comm);
            MPI_Recv(in, length, MPI_BYTE, other, kPairTag, comm, MPI_STATUS_IGNORE);
            if (!first) MPI_Send(out, length, MPI_BYTE, other, kPairTag, comm);
        }
        return seconds_since(begin) / (2.0 * rounds);
    };
    const auto rate = [=](std::int64_t bytes, int count) {
        const int length = static_cast<int>(bytes);
        const auto begin = Clock::now();
        for (int done = 0; done < count;) {
            std::vector<MPI_Request> open(static_cast<std::size_t>(std::min(window, count - done)));
            for (MPI_Request& each : open)
                first ? MPI_Isend(out, length, MPI_BYTE, other, kPairTag, comm, &each)
                      : MPI_Irecv(in, length, MPI_BYTE, other, kPairTag, comm, &each);
            MPI_Waitall(static_cast<int>(open.size()), open.data(), MPI_STATUSES_IGNORE);
            done += static_cast<int>(open.size());
        }
        char said = 0;  // the receiver has everything
        first ? MPI_Recv(&said, 1, MPI_BYTE, other, kPairTag, comm, MPI_STATUS_IGNORE)
              : MPI_Send(&said, 1, MPI_BYTE, other, kPairTag, comm);
        return static_cast<double>(bytes) * count / seconds_since(begin);
    };
    return {mpi_name, one_way, rate};
}

#if VOLTPILE_CUDA

PairWay nccl_way(StreamCommunicator& comm, const Stream& stream, char* out, char* in) {
    const bool first = comm.rank() == 0;
    const int other = 1 - comm.rank();
    const auto one_way = [=, &comm, &stream](std::int64_t bytes, int rounds) {
        const auto begin = Clock::now();
        for (int i = 0; i < rounds; ++i) {
            if (first) comm.send(out, bytes, ElementType::Byte, other, stream);
            comm.receive(in, bytes, ElementType::Byte, other, stream);
            if (!first) comm.send(out, bytes, ElementType::Byte, other, stream);
        }
        stream.synchronize();
        return seconds_since(begin) / (2.0 * rounds);
    };
    const auto rate = [=, &comm, &stream](std::int64_t bytes, int count) {
        const auto begin = Clock::now();
        for (int i = 0; i < count; ++i)
            first ? comm.send(out, bytes, ElementType::Byte, other, stream)
                  : comm.receive(in, bytes, ElementType::Byte, other, stream);
        stream.synchronize();
        return static_cast<double>(bytes) * count / seconds_since(begin);
    };
    return {nccl_name, one_way, rate};
}

// The driver's own copy from the first rank's GPU to the second's, made by the first: the limit of the link.
PairWay copy_way(bool first, int from, int to, const char* source, char* target, const Stream& stream) {
    const auto copies = [=, &stream](std::int64_t bytes, int count, bool one_by_one) {
        if (!first) return 0.0;
        const auto begin = Clock::now();
        for (int i = 0; i < count; ++i) {
            cuda_check(
                cudaMemcpyPeerAsync(target, to, source, from, static_cast<std::size_t>(bytes), stream.get()),
                "copying between GPUs");
            if (one_by_one) stream.synchronize();
        }
        stream.synchronize();
        return seconds_since(begin) / count;
    };
    return {copy_name, [=](std::int64_t bytes, int rounds) { return copies(bytes, rounds, true); },
            [=](std::int64_t bytes, int count) {
                return static_cast<double>(bytes) / copies(bytes, count, false);
            }};
}

// Returns the GPU of the pair's other rank as CUDA counts it here, -1 if it is not visible here.
int device_of_other(const Communicator& pair, int device) {
    const auto ids = pair.all_gather(device_info(device).pci_bus_id);
    int found = -1;
    if (cudaDeviceGetByPCIBusId(&found, ids[static_cast<std::size_t>(1 - pair.rank())].c_str()) !=
        cudaSuccess) {
        cudaGetLastError();
        found = -1;
    }
    // Only if each sees the other, and they are two GPUs.
    for (const std::string& each : pair.all_gather(found < 0 || found == device ? "-" : "+"))
        if (each == "-") return -1;
    return found;
}

#endif

void measure(const Communicator& pair, const PairWay& way, const PairBenchOptions& options,
             std::vector<PairBenchRow>& rows) {
    way.one_way(options.sizes.front(), 3);  // opens connections
    for (const std::int64_t bytes : options.sizes) {
        const double about = slowest_of(pair, way.one_way(bytes, 2));
        const int rounds =
            std::clamp(static_cast<int>(options.seconds_per_point / (4 * repeats * about)), 1, 2000);
        std::vector<double> times, rates;
        for (int i = 0; i < repeats; ++i) {
            times.push_back(way.one_way(bytes, rounds));
            rates.push_back(way.rate(bytes, std::max(2 * rounds, 4)));
        }
        std::ranges::sort(times);
        std::ranges::sort(rates);
        rows.push_back({way.name, bytes, times[repeats / 2], rates[repeats / 2]});
    }
}

}  // namespace

std::vector<std::string> pair_way_names(bool on_gpus) {
    std::vector<std::string> names{mpi_name};
    if (channel_there) names.push_back(channel_name);
    if (!on_gpus) return names;
    if (channel_there) names.push_back(gpu_channel_name);
    names.push_back(nccl_name);
    names.push_back(copy_name);
    return names;
}

std::vector<PairBenchRow> bench_pair(const Communicator& pair, ChannelGroup& channels, int peer,
                                     const PairBenchOptions& options) {
    const auto largest = static_cast<std::size_t>(std::ranges::max(options.sizes));
    const bool first = pair.rank() == 0;
    std::vector<PairBenchRow> rows;
    const auto measure_way = [&](const PairWay& way) {
        if (way.name.find(options.path) != std::string::npos) measure(pair, way, options, rows);
    };
    {
        std::vector<char> out(largest), in(largest);
        if (channel_there)
            measure_way(channel_way(channel_name, channels.channel(peer), first,
                                    host_memory(out.data(), largest), host_memory(in.data(), largest)));
        measure_way(mpi_way(pair, out.data(), in.data()));
    }
#if VOLTPILE_CUDA
    if (options.device < 0) return rows;
    use_device(options.device);
    DeviceBuffer<char> out(largest), in(largest);
    const Stream stream;
    if (channel_there)
        measure_way(channel_way(gpu_channel_name, channels.channel(peer), first,
                                gpu_memory(out.data(), largest), gpu_memory(in.data(), largest)));
    const int other = device_of_other(pair, options.device);
    const bool one_gpu = pair.all_gather(device_info(options.device).pci_bus_id)[0] ==
                         pair.all_gather(device_info(options.device).pci_bus_id)[1];
    if (nccl_on_all(pair) && !(one_gpu && other < 0)) {
        const auto nccl = make_nccl_communicator(pair, 60);
        measure_way(nccl_way(*nccl, stream, out.data(), in.data()));
        stream.synchronize();
    }
    if (other >= 0) {
        use_device(other);
        DeviceBuffer<char> target(first ? largest : 0);
        use_device(options.device);
        cudaDeviceEnablePeerAccess(other, 0);  // may be enabled already
        cudaGetLastError();
        measure_way(copy_way(first, options.device, other, out.data(), target.data(), stream));
        stream.synchronize();
    }
#endif
    return rows;
}

}  // namespace voltpile
