// What `voltpile check` reports of a node.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "health/clocks.h"
#include "health/measure_node.h"
#include "machine/gpu_snapshot.h"
#include "machine/node_check.h"

namespace voltpile {

struct NodeReport {
    struct ReportedGpu {
        std::string bus_id, name;
    };

    std::string node;                             // the host's name
    std::string driver;                           // NVIDIA's version; empty: none
    std::map<std::string, std::string> versions;  // of what must be equal on all nodes; empty: not there
    std::optional<ClockOffset> clock;             // compared with other nodes'
    std::vector<ReportedGpu> gpus;
    std::vector<NodeFinding> findings;
    std::vector<Figure> figures;            // empty: nothing was measured
    std::vector<std::string> not_measured;  // and why

    // Adds what was measured and what went wrong meanwhile.
    void add(const NodeFigures& measured);
};

// Describes this node as its driver sees it. findings: of check_node().
NodeReport make_report(const NodeGpus& gpus, std::vector<NodeFinding> findings);

// Adds the findings that need the reports of all nodes: versions that differ, and figures below theory or
// below those of peers.
void compare_nodes(std::vector<NodeReport>& reports);

// docs/commands.md describes the object.
nlohmann::json report_json(const NodeReport& report);
NodeReport report_from(const nlohmann::json& object);

// Lines for people: the verdict, the findings with advice, and the figures.
std::string report_text(const NodeReport& report);

}  // namespace voltpile
