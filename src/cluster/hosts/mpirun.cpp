#include "cluster/hosts/mpirun.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace voltpile {

Environment mpirun_settings(const MpirunUse& use) {
    Environment settings;
    for (const char* prefix : {"OMPI_MCA_", "PRTE_MCA_"}) {
        settings[std::string(prefix) + "oob_tcp_keepalive_time"] = "5";
        settings[std::string(prefix) + "oob_tcp_keepalive_intvl"] = "1";
        settings[std::string(prefix) + "oob_tcp_keepalive_probes"] = "3";
    }
    if (use.ranks_share_cores) settings["OMPI_MCA_mpi_yield_when_idle"] = "1";
    settings["OMPI_MCA_hwloc_base_binding_policy"] = "none";
    settings["PRTE_MCA_hwloc_default_binding_policy"] = "none";
    if (geteuid() == 0) {
        settings["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
        settings["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
    }
    return settings;
}

MpirunHosts::MpirunHosts(std::span<const HostEntry> hosts)
    : fd_(memfd_create("voltpile-hosts", MFD_CLOEXEC)) {
    std::string text;
    for (const HostEntry& host : hosts)
        text +=
            fmt::format("{}{}{} slots={}\n", host.user, host.user.empty() ? "" : "@", host.name, host.slots);
    if (fd_.get() < 0 || write(fd_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        throw FileError("write", "a host file in memory", errno);
}

std::string MpirunHosts::path() const {
    return fmt::format("/proc/{}/fd/{}", getpid(), fd_.get());
}

}  // namespace voltpile
