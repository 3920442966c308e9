// The network between nodes: what each link reaches, and which node or link reaches less than the others.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "comm/mpi/measure_links.h"
#include "comm/mpi/session.h"
#include "machine/node_check.h"

namespace voltpile {

// Links between host memories of nodes, which are numbered by rank.
struct NodeLinks {
    std::vector<std::string> nodes;
    std::vector<double> adapter_bytes_per_s;       // of each node's fastest network device; 0: unknown
    std::vector<std::vector<double>> latency_us;   // [a][b] = [b][a]: half a round trip; 0: not measured
    std::vector<std::vector<double>> bytes_per_s;  // [from][to]; 0: not measured
    std::string transport;                         // of rank 0: "TCP over eth0 (10 Gb/s)"

    explicit NodeLinks(std::vector<std::string> names = {});
};

// Measures all pairs, one after the other; collective, with one rank on each node. step: called on rank 0
// before each pair and after its latency. Returns the links on rank 0, without those for which the time was
// too short (LinkSeconds::all_pairs). A link that swallows messages makes it wait forever, so the caller must
// watch the time.
NodeLinks measure_node_links(const MpiSession& mpi, std::vector<std::string> nodes,
                             double adapter_bytes_per_s, const LinkSeconds& seconds,
                             const std::function<void(int a, int b)>& step);

// Returns the nodes whose links with this one were not measured.
std::vector<std::string> not_measured_with(const NodeLinks& links, std::size_t node);

// Returns the findings of each node. A node all of whose links are slow is at fault itself; otherwise both
// ends of a slow link have a finding. Of two nodes, only theory tells whether their link is slow.
std::vector<std::vector<NodeFinding>> judge_links(const NodeLinks& links);

// A line for people; empty without links.
std::string links_text(const NodeLinks& links);

// The links from a node: [{"to": "node2", "latency_us": 14.2, "bytes_per_s": 1.1e9}].
nlohmann::json links_json(const NodeLinks& links, std::size_t from);

}  // namespace voltpile
