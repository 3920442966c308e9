// A host's report and the whole survey as JSON: between the hosts, and for `voltpile hosts --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "cluster/hosts/findings.h"
#include "cluster/hosts/report.h"

namespace voltpile {

nlohmann::json to_json(const HostReport& report);

// Reads the known keys, so that reports of other versions are accepted. Throws CommError if a value has the
// wrong type.
HostReport parse_host_report(const nlohmann::json& json);

// Returns the whole survey for `voltpile hosts --json`.
nlohmann::json survey_json(const HostSurvey& survey, const std::optional<LinkSurvey>& links,
                           const std::vector<Finding>& findings);

}  // namespace voltpile
