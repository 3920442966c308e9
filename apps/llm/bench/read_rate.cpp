#include "llm/bench/read_rate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/bind_thread.h"
#include "base/error.h"
#include "base/seconds_since.h"
#include "device/buffer.h"
#include "device/device.h"
#if VOLTPILE_CUDA
#include "llm/bench/read_rate_kernel.h"
#endif

namespace voltpile::llm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int rounds = 5;

struct File {
    explicit File(const std::string& name) : path(name), descriptor(::open(name.c_str(), O_RDONLY)) {
        if (descriptor < 0) throw FileError("open", path, errno);
    }
    ~File() { ::close(descriptor); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    const std::string& path;
    int descriptor;
};

}  // namespace

#if VOLTPILE_CUDA

double gpu_read_rate(int device, std::int64_t bytes, const Stream& stream) {
    const DeviceInfo info = device_info(device);
    bytes = std::min(bytes, (info.memory_bytes - device_bytes_in_use()) / 2) / 4096 * 4096;
    DeviceBuffer<std::byte> memory(static_cast<std::size_t>(bytes) + 16);
    set_to_zero(memory.data(), memory.bytes(), stream);
    double best = 1e9;
    Event begin, end;
    for (int i = 0; i < rounds; ++i) {
        begin.record(stream);
        launch_read_all(memory.data(), bytes, memory.data() + bytes, info.multiprocessors, stream);
        end.record(stream);
        end.synchronize();
        if (i > 0) best = std::min(best, end.seconds_since(begin));  // the first round loads the kernel
    }
    return static_cast<double>(bytes) / best;
}

#else

double gpu_read_rate(int, std::int64_t, const Stream&) {
    throw DeviceError("this program was built without CUDA");
}

#endif

double host_read_rate(std::int64_t bytes, const std::vector<int>& pus) {
    const std::size_t each = static_cast<std::size_t>(bytes) / sizeof(std::uint64_t) / pus.size();
    std::atomic<std::uint64_t> sum = 0;
    double best = 1e9;
    std::barrier<> together(static_cast<std::ptrdiff_t>(pus.size()));
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < pus.size(); ++t)
        threads.emplace_back([&, t] {
            bind_this_thread(pus[t]);
            const std::vector<std::uint64_t> memory(each, t);  // allocated near the core that reads it
            for (int i = 0; i < rounds; ++i) {
                together.arrive_and_wait();
                const auto begin = Clock::now();
                std::uint64_t part = 0;
                for (const std::uint64_t word : memory) part += word;
                sum += part;
                together.arrive_and_wait();
                if (t == 0) best = std::min(best, seconds_since(begin));
            }
        });
    threads.clear();
    return static_cast<double>(each * pus.size() * sizeof(std::uint64_t)) / best;
}

double file_read_rate(const std::vector<std::string>& paths, int reader, int readers) {
    std::vector<std::byte> piece(std::size_t{8} << 20);
    std::int64_t bytes = 0;
    const auto begin = Clock::now();
    for (const std::string& path : paths) {
        const File file(path);
        const std::int64_t size = ::lseek(file.descriptor, 0, SEEK_END);
        const std::int64_t end = size * (reader + 1) / readers;
        for (std::int64_t at = size * reader / readers; at < end;) {
            const auto wanted = std::min<std::int64_t>(static_cast<std::int64_t>(piece.size()), end - at);
            const ssize_t got = ::pread(file.descriptor, piece.data(), static_cast<std::size_t>(wanted), at);
            if (got <= 0) throw FileError("read", path, got < 0 ? errno : EIO);
            at += got;
            bytes += got;
        }
    }
    return static_cast<double>(bytes) / seconds_since(begin);
}

std::int64_t host_bytes_in_use() {
    std::ifstream file("/proc/self/statm");
    std::int64_t size = 0, resident = 0;
    file >> size >> resident;
    return resident * ::sysconf(_SC_PAGESIZE);
}

}  // namespace voltpile::llm
