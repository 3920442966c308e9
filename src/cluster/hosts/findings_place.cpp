// The shared folder, the clocks, and what the hosts are made of.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/format.h"
#include "base/shell_quote.h"
#include "cluster/hosts/access.h"
#include "cluster/hosts/finding_list.h"

namespace voltpile {
namespace {

constexpr double largest_skew_s = 1;
constexpr std::int64_t little_space = 1'000'000'000;

// "4x Tesla V100-SXM2-16GB, 1x ..."
std::string gpus_text(const HostReport& report) {
    std::map<std::string, int> counts;
    for (const HostGpu& gpu : report.gpus) ++counts[gpu.name];
    std::vector<std::string> parts;
    for (const auto& [name, count] : counts) parts.push_back(fmt::format("{}x {}", count, name));
    return parts.empty() ? "no GPU" : fmt::format("{}", fmt::join(parts, ", "));
}

// Says once which hosts have what, if they do not all have the same.
template <class Describe>
void remark_if_unequal(const HostSurvey& survey, FindingList& list, const Describe& describe) {
    std::map<std::string, std::vector<std::string>> hosts_of;
    for (const HostVisit& visit : survey.visits)
        if (visit.listed && visit.report) hosts_of[describe(*visit.report)].push_back(visit.name);
    if (hosts_of.size() < 2) return;
    std::vector<std::string> parts;
    for (const auto& [what, hosts] : hosts_of) parts.push_back(fmt::format("{}: {}", host_list(hosts), what));
    list.remark(
        "", fmt::format("the hosts are not equal ({}); each gets work by its speed", fmt::join(parts, "; ")));
}

}  // namespace

void judge_folder(const HostSurvey& survey, FindingList& list) {
    const std::string folder = shell_quote(survey.folder);
    for (const HostVisit& visit : survey.visits) {
        if (!visit.report) continue;
        const FolderView& view = visit.report->folder;
        if (!view.exists) {
            list.must_fix(
                visit.name, fmt::format("there is no folder {}", survey.folder),
                fmt::format(
                    "mount the shared file system there, or, to use the host's own disk: ssh %h mkdir -p {}",
                    folder));
            continue;
        }
        if (!view.writable)
            list.must_fix(visit.name, fmt::format("{} cannot be written: {}", survey.folder, view.error),
                          fmt::format("ssh %h ls -ld {}   shows whose it is", folder));
        else if (!visit.here && (!view.sees_probe || !visit.folder_seen_here))
            list.remark(
                visit.name,
                fmt::format(
                    "{} is not the same folder as here: results will be gathered from the host's own disk",
                    survey.folder));
        if (view.writable && view.free_bytes < little_space)
            list.remark(visit.name, fmt::format("{} has only {} left", survey.folder,
                                                bytes_text(static_cast<double>(view.free_bytes))));
    }
}

void judge_clocks(const HostSurvey& survey, FindingList& list) {
    for (const HostVisit& visit : survey.visits) {
        if (!visit.report || visit.here) continue;
        const double skew = std::abs(visit.clock_offset_s);
        if (skew - visit.clock_uncertainty_s <= largest_skew_s) continue;
        list.must_fix(visit.name,
                      fmt::format("the clock is {} {} that of this host", duration_text(skew),
                                  visit.clock_offset_s > 0 ? "ahead of" : "behind"),
                      "on %H: sudo timedatectl set-ntp true   (or: sudo apt install chrony)");
    }
}

void judge_hardware(const HostSurvey& survey, FindingList& list) {
    for (const HostVisit& visit : survey.visits) {
        if (!visit.report) continue;
        const HostReport& report = *visit.report;
        const int usable = static_cast<int>(report.gpus.size());
        if (report.cuda == "no" && report.gpus_on_bus > 0)
            list.remark(visit.name, fmt::format("{} GPUs stay unused: this voltpile was built without CUDA",
                                                report.gpus_on_bus));
        else if (usable < report.gpus_on_bus)
            list.must_fix(
                visit.name,
                fmt::format("{} NVIDIA GPUs are on the bus, but CUDA can use {}", report.gpus_on_bus, usable),
                "on %H: nvidia-smi; sudo dmesg | grep -i -e xid -e nvrm   (a GPU that fell off the bus "
                "comes back after a power cycle)");
        if (visit.slots > report.cores && report.cores > 0)
            list.remark(visit.name, fmt::format("slots={} in the host file, but there are {} cores",
                                                visit.slots, report.cores));
    }
    remark_if_unequal(survey, list, gpus_text);
    remark_if_unequal(survey, list,
                      [](const HostReport& report) { return fmt::format("{} cores", report.cores); });
}

}  // namespace voltpile
