#include "machine/host_meter.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/kernel_files.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

double number_of_file(const fs::path& file) {
    return std::atof(first_line(file).c_str());
}

// Returns the bytes of a line of /proc/meminfo ("MemTotal:  16384 kB"); nothing if there is no such line.
std::optional<double> meminfo(const fs::path& proc, const std::string& name) {
    std::ifstream in(proc / "meminfo");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(name + ":")) return 1024 * std::atof(line.c_str() + name.size() + 1);
    return std::nullopt;
}

}  // namespace

HostMeter::HostMeter(fs::path proc, fs::path sys)
    : proc_(std::move(proc)), sys_(std::move(sys)), sensors_(sys_) {}

HostMeter::Counters HostMeter::read_counters() const {
    Counters now;
    now.at = std::chrono::steady_clock::now();
    // "cpu  user nice system idle iowait irq softirq steal ...": the sum of all cores.
    std::istringstream cpu(first_line(proc_ / "stat"));
    std::string word;
    cpu >> word;
    constexpr int idle = 3, iowait = 4, fields = 8;
    double ticks = 0;
    for (int field = 0; field < fields && cpu >> ticks; ++field) {
        (field == idle || field == iowait ? now.cpu_idle : now.cpu_busy) += ticks;
    }
    for (const fs::path& interface : sorted_entries(sys_ / "class/net")) {
        std::error_code error;
        if (!fs::exists(interface / "device", error))
            continue;  // bridges, tunnels and lo count what others carry
        now.received += number_of_file(interface / "statistics/rx_bytes");
        now.sent += number_of_file(interface / "statistics/tx_bytes");
    }
    return now;
}

HostReading HostMeter::read() {
    HostReading reading;
    sensors_.read(reading);
    reading.memory_total_bytes = meminfo(proc_, "MemTotal");
    if (const auto available = meminfo(proc_, "MemAvailable"); available && reading.memory_total_bytes)
        reading.memory_used_bytes = *reading.memory_total_bytes - *available;
    const Counters now = read_counters();
    if (before_) {
        const double seconds = std::chrono::duration<double>(now.at - before_->at).count();
        // The time spent waiting for input and output may fall, see proc(5).
        const double busy = std::max(0.0, now.cpu_busy - before_->cpu_busy),
                     idle = std::max(0.0, now.cpu_idle - before_->cpu_idle);
        if (busy + idle > 0)
            cpu_percent_ = 100 * busy / (busy + idle);
        else if (!cpu_percent_ && now.cpu_busy + now.cpu_idle > 0)
            cpu_percent_ = 100 * now.cpu_busy / (now.cpu_busy + now.cpu_idle);
        reading.cpu_percent = cpu_percent_;
        if (seconds > 0) {
            reading.network_received_bytes_per_s = (now.received - before_->received) / seconds;
            reading.network_sent_bytes_per_s = (now.sent - before_->sent) / seconds;
        }
    }
    before_ = now;
    return reading;
}

}  // namespace voltpile
