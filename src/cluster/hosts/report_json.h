// A host's report and the whole survey as JSON: between the hosts, and for `voltpile hosts --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "cluster/hosts/findings.h"
#include "cluster/hosts/report.h"

namespace voltpile {

nlohmann::json to_json(const HostReport& report);

// Takes what it finds, so that the report of another version can be judged. Throws CommError if it is none.
HostReport parse_host_report(const nlohmann::json& json);

nlohmann::json survey_json(const HostSurvey& survey, const std::optional<LinkSurvey>& links,
                           const std::vector<Finding>& findings);

}  // namespace voltpile
