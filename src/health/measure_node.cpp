#include "health/measure_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "health/figure_json.h"

namespace voltpile {

NodeFigures figures_of_process(const ProcessResult& result, std::chrono::milliseconds deadline) {
    NodeFigures node;
    std::string at = "its start";  // what the process was measuring last
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);)
        if (const auto begun = add_line(line, node)) at = *begun;
    const char* advice = "dmesg shows why (NVRM: Xid); restart the node before it runs jobs";
    const std::string late =
        fmt::format("not measured within {:.3g} s", std::chrono::duration<double>(deadline).count());
    if (result.timed_out && at.starts_with(kHostPlace))  // other programs use it
        node.not_measured.push_back(fmt::format("{}: {}: the node is busy", at, late));
    else if (result.timed_out)
        node.findings.push_back({Health::Bad, fmt::format("{}: {}", at, late), advice});
    else if (!result.succeeded())
        node.findings.push_back({Health::Bad,
                                 fmt::format("{}: measuring it ended with exit code {}: {}", at,
                                             result.exit_code, result.err.substr(0, result.err.find('\n'))),
                                 advice});
    return node;
}

NodeFigures measure_node(std::vector<std::string> command, std::chrono::milliseconds deadline) {
    try {
        return figures_of_process(run_process({std::move(command), "", {}, deadline}), deadline);
    } catch (const Error& error) {
        NodeFigures none;
        none.not_measured.push_back(error.what());
        return none;
    }
}

}  // namespace voltpile
