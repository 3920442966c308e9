#include "machine/kernel_events.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "base/unix_time.h"
#include "machine/xid.h"

namespace voltpile {
namespace {

constexpr std::array<std::string_view, 8> kTelling{
    "NVRM: ", "AER: ",           "PCIe Bus Error", "Machine check", "mce: [Hardware Error]",
    "EDAC ",  "Out of memory: ", "oom-kill:"};

// "6,1234,98765432,-;text": the third number is the time in microseconds since the boot.
std::optional<double> seconds_of(const std::string& line, std::string::size_type semicolon) {
    const auto first = line.find(','), second = line.find(',', first + 1);
    if (first == std::string::npos || second == std::string::npos || second > semicolon) return std::nullopt;
    return static_cast<double>(std::atoll(line.c_str() + second + 1)) * 1e-6;
}

}  // namespace

std::vector<KernelEvent> kernel_events(const std::string& log, double boot_s, double since_s) {
    std::vector<KernelEvent> events;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
        const auto semicolon = line.find(';');
        if (semicolon == std::string::npos) continue;
        const std::optional<double> after_boot = seconds_of(line, semicolon);
        if (!after_boot || boot_s + *after_boot < since_s) continue;
        const std::string text = line.substr(semicolon + 1);
        if (std::ranges::any_of(kTelling, [&](auto word) { return text.find(word) != std::string::npos; }))
            events.push_back({boot_s + *after_boot, text});
    }
    return events;
}

std::vector<KernelEvent> kernel_events_since(double since_s) {
    const std::optional<std::string> log = kernel_log();
    timespec now{};
    if (!log || clock_gettime(CLOCK_MONOTONIC, &now) != 0) return {};
    const double up_s = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
    return kernel_events(*log, unix_time() - up_s, since_s);
}

std::optional<XidEvent> xid_of(const KernelEvent& event) {
    const std::vector<XidCount> xids = count_xids(event.text);
    if (xids.empty()) return std::nullopt;
    return XidEvent{xids.front().bus_id, xids.front().number};
}

}  // namespace voltpile
