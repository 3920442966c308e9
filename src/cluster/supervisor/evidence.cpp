#include "cluster/supervisor/evidence.h"

#include <nlohmann/json.hpp>

#include "machine/node_json.h"

namespace voltpile {

std::string evidence_json(const AttemptEvidence& evidence, const std::string& verdict) {
    using nlohmann::json;
    json nodes = json::array();
    for (const NodeEvidence& node : evidence.nodes) {
        json samples = json::array(), kernel = json::array(), findings = json::array();
        for (const NodeSample& sample : node.samples)
            samples.push_back(json::parse(to_json(sample), nullptr, false));
        for (const KernelEvent& event : node.kernel)
            kernel.push_back({{"time_s", event.time_s}, {"text", event.text}});
        for (const NodeFinding& finding : node.findings)
            findings.push_back({{"health", name_of(finding.health)}, {"text", finding.text}});
        nodes.push_back({{"name", node.name},
                         {"lost", node.lost},
                         {"samples", samples},
                         {"kernel", kernel},
                         {"findings", findings}});
    }
    const json all{{"verdict", verdict},
                   {"begin_s", evidence.begin_s},
                   {"end_s", evidence.end_s},
                   {"exit_code", evidence.exit_code},
                   {"last_error", evidence.last_error},
                   {"nodes", nodes}};
    return all.dump(1, ' ', false, json::error_handler_t::replace);
}

}  // namespace voltpile
