// Whether all have the same libraries and the mpirun that belongs to them.
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "cluster/hosts/finding_list.h"

namespace voltpile {
namespace {

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

// Different versions of these do not understand each other, or compute and write differently.
constexpr std::array<Rule, 6> rules{{
    {"Open MPI", true, "ranks of different Open MPI do not work together"},
    {"UCX", true, "different UCX need not understand each other"},
    {"NCCL", true, "ranks of different NCCL do not work together"},
    {"HDF5", false, "results will be written by different versions"},
    {"CUDA driver", false, ""},
    {"NVIDIA driver", false, ""},
}};

void compare_libraries(const HostVisit& visit, const HostVisit& reference, FindingList& list) {
    for (const Rule& rule : rules) {
        const std::string its = library_version(*visit.report, rule.library);
        const std::string other = library_version(*reference.report, rule.library);
        if (its == other) continue;
        // A host without GPUs needs no driver, one without RDMA needs no UCX.
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

}  // namespace

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

}  // namespace voltpile
