#include "machine/xid.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/process.h"

namespace voltpile {
namespace {

struct XidMeaning {
    int number;
    Health health;
    const char* text;
    const char* advice;
};

constexpr const char* program_advice =
    "usually an error of the program; if several programs have it on this GPU, replace the GPU";
constexpr const char* reset_advice =
    "reset the GPU (nvidia-smi -r) or restart the node; replace it if it returns";
constexpr const char* memory_advice =
    "reset the GPU or restart the node, which takes the bad memory out of use; replace the GPU if it returns";
// What a reset cures is not Bad: the log keeps it until the node is restarted.
constexpr std::array meanings{
    XidMeaning{13, Health::Ok, "error in a kernel", program_advice},
    XidMeaning{31, Health::Ok, "access to an invalid address", program_advice},
    XidMeaning{43, Health::Ok, "program stopped by an error", program_advice},
    XidMeaning{45, Health::Ok, "program ended early", program_advice},
    XidMeaning{48, Health::Degraded, "uncorrectable memory error", memory_advice},
    XidMeaning{62, Health::Degraded, "internal controller halted", reset_advice},
    XidMeaning{63, Health::Degraded, "bad memory taken out of use at the next reset", memory_advice},
    XidMeaning{64, Health::Bad, "bad memory could not be taken out of use", "replace the GPU"},
    XidMeaning{74, Health::Degraded, "NVLink error", "reseat the module and tighten its screws evenly"},
    XidMeaning{79, Health::Bad, "fell off the bus",
               "check power supply, seat and cooling, then restart the node"},
    XidMeaning{92, Health::Degraded, "many corrected memory errors", "replace the GPU if they go on"},
    XidMeaning{94, Health::Degraded, "contained memory error", memory_advice},
    XidMeaning{95, Health::Degraded, "uncontained memory error", memory_advice},
    XidMeaning{119, Health::Degraded, "its system processor (GSP) does not answer",
               "restart the node; if it returns, update the driver or switch GSP off "
               "(NVreg_EnableGpuFirmware=0)"},
};

// Reads the ring buffer from its start; a record for each read.
std::optional<std::string> kernel_messages() {
    const int file = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    std::string log;
    std::array<char, 8192> record{};
    for (;;) {
        const ssize_t length = read(file, record.data(), record.size());
        if (length > 0)
            log.append(record.data(), static_cast<std::size_t>(length));
        else if (length == 0 || (errno != EINTR && errno != EPIPE))  // EPIPE: overwritten meanwhile
            break;
    }
    close(file);
    return log;
}

}  // namespace

std::vector<XidCount> count_xids(const std::string& log) {
    static constexpr std::string_view mark = "NVRM: Xid (";
    std::map<std::pair<std::string, int>, int> counts;
    for (std::size_t at = log.find(mark); at != log.npos; at = log.find(mark, at + 1)) {
        // "NVRM: Xid (PCI:0000:3a:00): 79, pid=..."; old drivers leave out "PCI:".
        const std::string rest = log.substr(at + mark.size(), 80);
        const std::size_t close = rest.find("): ");
        if (close == rest.npos) continue;
        std::string bus_id = rest.substr(0, close);
        if (bus_id.starts_with("PCI:")) bus_id.erase(0, 4);
        if (bus_id.find('.') == bus_id.npos) bus_id += ".0";
        if (const int number = std::atoi(rest.c_str() + close + 3); number > 0)
            ++counts[{plain_bus_id(bus_id), number}];
    }
    std::vector<XidCount> xids;
    for (const auto& [key, times] : counts) xids.push_back({key.first, key.second, times});
    return xids;
}

std::optional<std::string> kernel_log() {
    if (auto log = kernel_messages()) return log;
    const auto program = find_program("journalctl");
    if (!program) return std::nullopt;
    try {
        const ProcessResult result = run_process(
            {{program->string(), "--dmesg", "--boot", "--quiet", "--no-pager", "--grep", "NVRM: Xid"},
             "",
             {},
             std::chrono::seconds(5)});
        // 1: no line matches.
        if (!result.timed_out && (result.exit_code == 0 || result.exit_code == 1)) return result.out;
    } catch (const Error&) {  // journalctl is only a second source
    }
    return std::nullopt;
}

std::vector<NodeFinding> judge_xids(const std::vector<XidCount>& xids, const NodeGpus& node) {
    std::vector<NodeFinding> findings;
    for (const XidCount& xid : xids) {
        const auto gpu = std::ranges::find(node.gpus, xid.bus_id, &GpuSnapshot::bus_id);
        const std::string name = gpu == node.gpus.end()
                                     ? fmt::format("GPU at {}", xid.bus_id)
                                     : fmt::format("GPU {} ({})", gpu - node.gpus.begin(), xid.bus_id);
        const auto known = std::ranges::find(meanings, xid.number, &XidMeaning::number);
        const XidMeaning meaning = known != meanings.end()
                                       ? *known
                                       : XidMeaning{xid.number, Health::Ok, "see NVIDIA's list of Xids",
                                                    "look it up in NVIDIA's documentation of Xid errors"};
        findings.push_back(
            {meaning.health,
             fmt::format("{}: Xid {} ({}), {} since the node was started", name, xid.number, meaning.text,
                         xid.times == 1 ? "once" : fmt::format("{} times", xid.times)),
             meaning.advice});
    }
    return findings;
}

}  // namespace voltpile
