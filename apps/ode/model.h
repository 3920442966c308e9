// The equations of a job: names, expressions, events and outputs in one graph.
#pragma once

#include <string>
#include <vector>

#include "job/key_spec.h"
#include "ode/graph.h"

namespace voltpile::ode {

inline constexpr std::size_t kMostStates = 64;
inline constexpr std::size_t kMostOutputs = 64;
inline constexpr std::size_t kMostEvents = 16;

struct NamedNode {
    std::string name;
    int node = -1;
};

// Symbols of the graph are numbered: states, then parameters, then time.
struct Model {
    Graph graph;
    std::vector<std::string> states;      // sorted
    std::vector<std::string> parameters;  // sorted
    std::vector<int> rates;               // nodes of the states' derivatives with respect to time
    std::vector<NamedNode> events;        // nodes are comparisons
    std::vector<NamedNode> outputs;

    int parameter_symbol(std::size_t i) const { return static_cast<int>(states.size() + i); }
    int time_symbol() const { return static_cast<int>(states.size() + parameters.size()); }
};

// Reads the tables [parameters], [initial], [define], [equations], [stop] and [outputs] and reports what is
// wrong with them. The model is complete only if nothing was reported.
Model model_from_job(const JobSpec& job, const ReportProblem& report);

// The same for a job that has been checked.
Model model_from_job(const JobSpec& job);

// Names of fields that each result has or may have.
std::vector<std::string> common_fields();

}  // namespace voltpile::ode
