// Latency and bandwidth of a channel between the first two ranks, for host memory and, with GPUs, for GPU
// buffers, beside the driver's own copy between the two GPUs. Usage:
//   mpirun -np 2 bench_channel [LARGEST_BYTES [SECONDS_PER_LINE [NET_DEVICES]]]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>

#include "channel_buffer.h"
#include "comm/channel/bench.h"
#include "comm/channel/group.h"
#include "comm/mpi/session.h"
#include "device/device.h"
#if VOLTPILE_CUDA
#include "device/check.h"
#endif

using namespace voltpile;

namespace {

// Bytes per second of cudaMemcpyPeer between the first two GPUs, 0 if unavailable.
double peer_copy_bytes_per_second([[maybe_unused]] std::size_t bytes) {
#if VOLTPILE_CUDA
    if (device_count() < 2) return 0;
    use_device(1);
    DeviceBuffer<std::uint8_t> to(bytes);
    use_device(0);
    DeviceBuffer<std::uint8_t> from(bytes);
    cudaDeviceEnablePeerAccess(1, 0);
    cudaGetLastError();
    const Stream stream;
    const int count = static_cast<int>(std::clamp<std::size_t>((std::size_t{4} << 30) / bytes, 4, 500));
    Event begin, end;
    for (int i = -2; i < count; ++i) {
        if (i == 0) begin.record(stream);
        cuda_check(cudaMemcpyPeerAsync(to.data(), 1, from.data(), 0, bytes, stream.get()),
                   "copying between GPUs");
    }
    end.record(stream);
    end.synchronize();
    return static_cast<double>(bytes) * count / end.seconds_since(begin);
#else
    return 0;
#endif
}

void measure(const MpiSession& session, ChannelOptions options, MemoryKind kind, std::size_t largest,
             double seconds) {
    const Communicator& world = session.world();
    ChannelGroup group(world, options);
    if (world.rank() < 2) {
        Channel& channel = group.channel(1 - world.rank());
        const bool first = world.rank() == 0;
        if (first)
            fmt::print("{}\n{:>12} {:>14} {:>12} {:>16}\n", group.paths().at(0), "bytes", "one way", "stream",
                       kind == MemoryKind::Gpu ? "cudaMemcpyPeer" : "");
        TestBuffer greeting(MemoryKind::Host, 8);
        one_way_seconds(channel, first, greeting.memory(), greeting.memory(), 1000);  // opens the connection
        for (std::size_t bytes = 8; bytes <= largest; bytes *= bytes == 1U << 18 ? 4 : 8) {
            TestBuffer out(kind, bytes), in(kind, bytes);
            // A short run finds how many messages fit into the time, the same at both ends.
            double once = one_way_seconds(channel, first, out.memory(), in.memory(), 20);
            Memory shared = host_memory(&once, sizeof once);
            first ? channel.send(shared).wait() : channel.receive(shared).wait();
            const int rounds = std::clamp(static_cast<int>(seconds / (2 * once)), 5, 200'000);
            const double latency = one_way_seconds(channel, first, out.memory(), in.memory(), rounds);
            const double rate = bytes_per_second(channel, first, out.memory(), std::max(2 * rounds, 32), 16);
            const double copy = first && kind == MemoryKind::Gpu ? peer_copy_bytes_per_second(bytes) : 0;
            if (options.gpu >= 0) use_device(options.gpu);
            if (first)
                fmt::print(
                    "{:>12} {:>11.2f} us {:>7.3f} GB/s{}\n", bytes, 1e6 * latency, 1e-9 * rate,
                    copy > 0 ? fmt::format(" {:>11.3f} GB/s {:.0f} %", 1e-9 * copy, 100 * rate / copy) : "");
            std::fflush(stdout);
        }
    }
    world.all_gather("");
}

}  // namespace

int main(int argc, char** argv) {
    const MpiSession session(argc, argv);
    try {
        const std::size_t largest = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{64} << 20;
        const double seconds = argc > 2 ? std::atof(argv[2]) : 0.5;
        ChannelOptions options;
        if (argc > 3) options.net_devices = argv[3];
        measure(session, options, MemoryKind::Host, largest, seconds);
        if (device_count() == 0) return 0;
        options.gpu = session.world().rank() % device_count();
        use_device(options.gpu);
        for (bool staged : {false, true}) {
            options.stage_gpu_buffers = staged;
            measure(session, options, MemoryKind::Gpu, largest, seconds);
        }
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_channel: {}\n", error.what());
        session.abort(4);
    }
}
