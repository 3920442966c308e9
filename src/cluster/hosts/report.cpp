#include "cluster/hosts/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace voltpile {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(LibraryInUse, name, version, path)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(HostInterface, name, is_virtual, gb_per_s, mtu, half_duplex,
                                                addresses)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(HostRdmaPort, device, port, state, gb_per_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(HostGpu, name, memory_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ResolvedName, name, addresses, error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(FolderView, exists, sees_probe, writable, error, free_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(HostReport, hostname, version, git_revision, checksum, cuda,
                                                libraries, cores, memory_bytes, gpus, gpus_on_bus, interfaces,
                                                rdma_ports, names, folder, reached_at, reached_from, port)

nlohmann::json to_json(const HostReport& report) {
    return report;
}

HostReport parse_host_report(const nlohmann::json& json) {
    try {
        return json.get<HostReport>();
    } catch (const nlohmann::json::exception& error) {
        throw CommError(fmt::format("the report of a host is malformed: {}", error.what()));
    }
}

}  // namespace voltpile
