#include "cluster/hosts/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/format.h"
#include "base/shell_quote.h"
#include "cluster/hosts/finding_list.h"

namespace voltpile {
namespace {

void judge_failure(const HostVisit& visit, const HostSurvey& survey, FindingList& list) {
    const std::string copy = fmt::format("ssh %h mkdir -p {0} && scp {1} %h:{1}",
                                         shell_quote(survey.program.substr(0, survey.program.rfind('/'))),
                                         shell_quote(survey.program));
    const auto problem = [&](const std::string& what, const std::string& fix) {
        list.must_fix(visit.name, what, fix);
    };
    switch (visit.access) {
        case Access::Answered:
            return;
        case Access::NameUnknown:
            return problem(
                "this host does not know the name",
                "correct the name in the host file, or add a line to /etc/hosts on this host: ADDRESS %H");
        case Access::Unreachable:
            return problem("cannot be reached: check its power, cable and address", "ping -c 3 %h");
        case Access::Refused:
            return problem("ssh connections are refused: no ssh server is running",
                           "on %H: sudo apt install openssh-server && sudo systemctl enable --now ssh");
        case Access::KeyNotAccepted:
            return problem("ssh asks for a password: your key is not accepted",
                           "ssh-copy-id %h   (before that, if you have no key: ssh-keygen -t ed25519)");
        case Access::HostKeyUnknown:
            return problem("ssh does not know its host key", "ssh-keyscan %h >> ~/.ssh/known_hosts");
        case Access::HostKeyChanged:
            return problem(
                "the ssh host key has changed: the host was reinstalled, or another machine has the "
                "address",
                "if you know why: ssh-keygen -R %h && ssh-keyscan %h >> ~/.ssh/known_hosts");
        case Access::SshFailed:
            return problem("ssh fails: " + visit.access_error, "try ssh by hand: ssh -v %h true");
        case Access::NoAnswer:
            return problem("ssh connects, but then the host stops responding (" + visit.access_error + ")",
                           "is it overloaded, does one of its disks hang, does its login script wait? try: "
                           "ssh %h uptime");
        case Access::ProgramMissing:
            return problem("there is no " + survey.program, copy + "   (or keep it in a shared folder)");
        case Access::ProgramNotExecutable:
            return problem(survey.program + " exists but is not executable",
                           "ssh %h chmod a+rx " + shell_quote(survey.program));
        case Access::ProgramFails:
            return problem(
                fmt::format("{} does not work there: {}", survey.program, visit.access_error),
                "install the same packages there as here (make deps in Voltpile's source), and the same "
                "build: " +
                    copy);
    }
}

void judge_build(const HostVisit& visit, const HostVisit& reference, const HostSurvey& survey,
                 FindingList& list) {
    const HostReport& mine = *visit.report;
    const HostReport& its = *reference.report;
    if (mine.checksum == its.checksum && mine.version == its.version && mine.git_revision == its.git_revision)
        return;
    const bool same_source = mine.version == its.version && mine.git_revision == its.git_revision;
    list.must_fix(
        visit.name,
        same_source
            ? fmt::format("another build of voltpile {} (git {}) than on {}: checksum {}, not {}",
                          mine.version, mine.git_revision, reference.name, mine.checksum, its.checksum)
            : fmt::format("voltpile {} (git {}), but {} has {} (git {})", mine.version, mine.git_revision,
                          reference.name, its.version, its.git_revision),
        fmt::format("scp {0} %h:{0}", shell_quote(survey.program)));
}

constexpr const char* apt_mpi = "on %H: sudo apt install openmpi-bin   (the same version on all hosts)";

void judge_mpirun(const HostVisit& visit, FindingList& list) {
    if (visit.shell.mpirun.empty() || visit.shell.orted.empty()) {
        const char* missing = visit.shell.mpirun.empty() ? "mpirun" : "orted, Open MPI's daemon,";
        list.must_fix(
            visit.name,
            fmt::format("{} is not in the PATH that ssh has there{}", missing,
                        visit.here ? "" : ", so that mpirun cannot start anything there"),
            std::string(apt_mpi) +
                "; if it is there: set PATH in ~/.bashrc above the line that ends it when not interactive");
        return;
    }
    const std::string linked = "Open MPI " + library_version(*visit.report, "Open MPI");
    const std::string found = mpi_of(visit.shell.mpirun_version);
    if (found != linked)
        list.must_fix(visit.name,
                      fmt::format("mpirun there ({}) is that of {}, but voltpile uses {}", visit.shell.mpirun,
                                  found, linked),
                      "on %H: put the mpirun of " + linked +
                          " first into PATH   (Debian: sudo update-alternatives --config mpirun)");
}

struct Rule {
    const char* library;
    bool must_fix;
    const char* why;
};

// Different versions of these are incompatible, or compute and write differently.
constexpr std::array<Rule, 6> rules{{
    {"Open MPI", true, "ranks need the same version of Open MPI"},
    {"UCX", true, "versions of UCX may be incompatible"},
    {"NCCL", true, "ranks need the same version of NCCL"},
    {"HDF5", false, "different versions will write results"},
    {"CUDA driver", false, ""},
    {"NVIDIA driver", false, ""},
}};

void compare_libraries(const HostVisit& visit, const HostVisit& reference, FindingList& list) {
    for (const Rule& rule : rules) {
        const std::string its = library_version(*visit.report, rule.library);
        const std::string other = library_version(*reference.report, rule.library);
        if (its == other) continue;
        // Hosts without GPUs need no driver, hosts without RDMA no UCX.
        const bool both = !its.empty() && !other.empty();
        const std::string what =
            fmt::format("{} {}, {} has {}{}{}", rule.library, its.empty() ? "is missing" : its,
                        reference.name, other.empty() ? "none" : other, *rule.why ? ": " : "", rule.why);
        if (rule.must_fix && both)
            list.must_fix(visit.name, what, fmt::format("on %H: install {} {}", rule.library, other));
        else
            list.remark(visit.name, what);
    }
}

void judge_cuda(const HostVisit& visit, FindingList& list) {
    const HostReport& report = *visit.report;
    if (report.cuda == "no" || report.gpus_on_bus == 0) return;
    const std::string driver = library_version(report, "CUDA driver");
    if (!driver.empty() && std::atoi(driver.c_str()) < std::atoi(report.cuda.c_str()))
        list.must_fix(visit.name,
                      fmt::format("the NVIDIA driver supports CUDA {}, but voltpile was built with CUDA {}",
                                  driver, report.cuda),
                      "on %H: install a newer driver, or build voltpile with an older CUDA (12 for V100)");
}

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

// Adds one remark that lists which hosts have what, unless all have the same.
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

std::vector<Finding> judge_hosts(const HostSurvey& survey) {
    FindingList list;
    judge_access(survey, list);
    judge_software(survey, list);
    judge_names(survey, list);
    judge_connections(survey, list);
    judge_network_cards(survey, list);
    judge_folder(survey, list);
    judge_clocks(survey, list);
    judge_hardware(survey, list);
    std::vector<std::string> order;
    for (const HostVisit& visit : survey.visits) order.push_back(visit.name);
    return list.take(order);
}

std::string host_list(const std::vector<std::string>& hosts) {
    constexpr std::size_t enough = 6;
    if (hosts.size() <= enough) return fmt::format("{}", fmt::join(hosts, ", "));
    return fmt::format("{} and {} more", fmt::join(hosts.begin(), hosts.begin() + enough - 1, ", "),
                       hosts.size() - (enough - 1));
}

bool any_must_fix(const std::vector<Finding>& findings) {
    return std::ranges::any_of(findings, [](const Finding& each) { return each.must_fix; });
}

void judge_access(const HostSurvey& survey, FindingList& list) {
    const HostVisit* reference = reference_host(survey);
    for (const HostVisit& visit : survey.visits) {
        judge_failure(visit, survey, list);
        if (visit.report && reference) judge_build(visit, *reference, survey, list);
        if (!visit.shell.chatter.empty())
            list.remark(visit.name,
                        fmt::format("the login script prints text in sessions without a terminal (\"{}\")",
                                    visit.shell.chatter.front()),
                        "in ~/.bashrc there, print only where [ -t 1 ]");
    }
}

std::string mpi_of(const std::string& mpirun_version) {
    const auto open = mpirun_version.find("(Open MPI)");
    if (open != std::string::npos) {
        const auto digit = mpirun_version.find_first_of("0123456789", open);
        return "Open MPI " + (digit == std::string::npos ? "" : mpirun_version.substr(digit));
    }
    if (mpirun_version.find("HYDRA") != std::string::npos) return "MPICH";
    if (mpirun_version.find("Intel") != std::string::npos) return "Intel MPI";
    return mpirun_version.empty() ? "an unknown MPI" : mpirun_version;
}

void judge_software(const HostSurvey& survey, FindingList& list) {
    const HostVisit* reference = reference_host(survey);
    for (const HostVisit& visit : survey.visits) {
        if (!visit.report) continue;
        judge_mpirun(visit, list);
        if (&visit != reference) compare_libraries(visit, *reference, list);
        judge_cuda(visit, list);
    }
}

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
