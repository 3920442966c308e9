#include "health/check_this_node.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "base/build_info.h"
#include "base/error.h"
#include "health/measure_node.h"
#include "health/software.h"
#include "machine/disk_check.h"
#include "machine/host_sensors.h"
#include "machine/node_check.h"
#include "machine/probe.h"
#include "machine/settings_record.h"
#include "machine/xid.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

std::vector<NodeFinding> restore_gpus() {
    std::vector<NodeFinding> findings;
    const char* const advice = "restore it with nvidia-smi as an administrator, or restart the node";
    try {
        for (const RestoredGpu& gpu : restore_left_settings())
            findings.push_back({gpu.restored ? Health::Ok : Health::Degraded, gpu.text,
                                gpu.restored ? "nothing to do" : advice});
    } catch (const Error& error) {
        findings.push_back({Health::Degraded, error.what(), advice});
    }
    return findings;
}

std::string text_of_log(const std::string& file) {
    std::ifstream in(file);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in) throw FileError("read", file, errno);
    return text;
}

// Jobs write to the current folder and its results unless they say otherwise.
std::vector<fs::path> work_folders(const NodeCheckRequest& request) {
    if (!request.folders.empty()) return {request.folders.begin(), request.folders.end()};
    std::error_code error;
    const fs::path here = fs::current_path(error), results = here / "results";
    if (error) return {};
    return fs::exists(results, error) ? std::vector{here, results} : std::vector{here};
}

}  // namespace

CheckedNode check_this_node(const NodeCheckRequest& request) {
    const std::vector<NodeFinding> restored = restore_gpus();
    CheckedNode node;
    node.gpus = probe_gpus();
    std::vector<NodeFinding> findings = check_node(node.gpus, request.sys);
    const auto append = [&](const std::vector<NodeFinding>& more) {
        findings.insert(findings.end(), more.begin(), more.end());
    };
    append(check_disks(work_folders(request)));
    append(check_hwmon(request.sys));
    append(check_ipmi());
    append(restored);
    append(check_software(node.gpus, build_info().cuda));
    if (const auto log = request.kernel_log.empty() ? kernel_log() : text_of_log(request.kernel_log))
        append(judge_xids(count_xids(*log), node.gpus));
    node.report = make_report(node.gpus, std::move(findings));
    if (request.measure && node.gpus.hung)  // CUDA would hang as well
        node.report.not_measured.push_back("anything: " + node.gpus.problem);
    else if (request.measure)
        node.report.add(measure_node({fs::read_symlink("/proc/self/exe"), "check", "--measuring"}));
    return node;
}

}  // namespace voltpile
