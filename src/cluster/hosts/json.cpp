// `voltpile hosts --json`.
#include <nlohmann/json.hpp>

#include "cluster/hosts/report_text.h"

namespace voltpile {
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
