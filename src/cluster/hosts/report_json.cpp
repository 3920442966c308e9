#include "cluster/hosts/report_json.h"

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

namespace {

using nlohmann::json;

json visit_json(const HostVisit& visit) {
    json out = {{"name", visit.name},
                {"here", visit.here},
                {"listed", visit.listed},
                {"reached", visit.access == Access::Answered},
                {"error", visit.access_error},
                {"mpirun", {{"path", visit.shell.mpirun}, {"version", visit.shell.mpirun_version}}},
                {"orted", visit.shell.orted}};
    if (!visit.report) return out;
    out["report"] = to_json(*visit.report);
    out["clock_offset_s"] = visit.clock_offset_s;
    out["clock_uncertainty_s"] = visit.clock_uncertainty_s;
    out["folder_seen_here"] = visit.folder_seen_here;
    out["connections"] = json::array();
    for (const PortAttempt& attempt : visit.connections)
        out["connections"].push_back(
            {{"host", attempt.host}, {"address", attempt.address}, {"error", attempt.error}});
    return out;
}

json links_json(const LinkSurvey& links) {
    json ends = json::array();
    for (const LinkEnd& end : links.ends)
        ends.push_back({{"hostname", end.hostname}, {"transport", end.transport}, {"device", end.device}});
    return {{"hosts", links.hosts},
            {"ring_hop_us", links.ring_hop_us},
            {"latency_us", links.latency_us},
            {"bytes_per_s", links.bytes_per_s},
            {"ends", ends},
            {"failure", links.failure}};
}

}  // namespace

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

json survey_json(const HostSurvey& survey, const std::optional<LinkSurvey>& links,
                 const std::vector<Finding>& findings) {
    json out = {{"program", survey.program}, {"folder", survey.folder}, {"ok", !any_must_fix(findings)}};
    out["hosts"] = json::array();
    for (const HostVisit& visit : survey.visits) out["hosts"].push_back(visit_json(visit));
    out["links"] = links ? links_json(*links) : json();
    out["findings"] = json::array();
    for (const Finding& finding : findings)
        out["findings"].push_back({{"must_fix", finding.must_fix},
                                   {"hosts", finding.hosts},
                                   {"what", finding.what},
                                   {"fix", finding.fix}});
    return out;
}

}  // namespace voltpile
