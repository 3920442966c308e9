#include "plan/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/format.h"
#include "plan/verdict.h"

namespace voltpile {

std::string processor_text(const Plan& plan, const RankPlan& rank) {
    const Host& host = plan.host_of(rank);
    if (rank.gpu >= 0)
        return fmt::format("GPU {} ({})", rank.gpu, host.gpus[static_cast<std::size_t>(rank.gpu)].name);
    return fmt::format("{} core{} of {} ({}-bit SIMD)", rank.cores.size(), rank.cores.size() == 1 ? "" : "s",
                       host.cpu_name, host.simd_bits);
}

namespace {

// "cores 0-4, mlx5_0": what is next to the rank's GPU.
std::string binding_text(const Plan& plan, const RankPlan& rank) {
    std::vector<int> cores = rank.cores;
    std::ranges::sort(cores);
    std::string text = fmt::format("core{} {}", cores.size() == 1 ? "" : "s", ranges_text(cores));
    if (rank.nic >= 0) text += ", " + plan.host_of(rank).nics[static_cast<std::size_t>(rank.nic)].name;
    return text;
}

}  // namespace

std::string to_text(const Plan& plan) {
    const Workload& work = plan.workload;
    std::string text;
    auto line = [&text](std::string_view name, const std::string& value) {
        text += fmt::format("{:<10} {}\n", name, value);
    };
    const double units = static_cast<double>(work.points) * work.units_per_point;
    if (work.points > 0) {  // a service has none
        line("points", count_text(work.points));
        line("work", fmt::format("about {:.4g} {} ({:.4g} {} instructions each)", units, work.unit,
                                 work.flop_per_unit, work.fp64 ? "FP64" : "FP32"));
        line("result", bytes_text(static_cast<double>(plan.result_bytes())));
        line("time", "about " + duration_text(plan.whole_seconds()));
        if (plan.watts > 0)
            line("energy", fmt::format("about {:.3g} Wh ({:.0f} W under load)",
                                       plan.watts * plan.seconds / 3600, plan.watts));
    }
    std::set<std::string> calibrated;
    for (const Host& host : plan.topology.hosts)
        if (!host.calibrated.empty()) calibrated.insert(host.calibrated);
    for (const std::string& each : calibrated) line("calibrated", "on " + each);
    const std::size_t hosts = plan.topology.hosts.size();
    line("ranks",
         fmt::format("{} on {} host{}{}", plan.ranks.size(), hosts, hosts == 1 ? "" : "s",
                     plan.nodes.size() <= hosts ? "" : fmt::format(" as {} nodes", plan.nodes.size())));
    if (!plan.teams.single()) line("teams", to_text(plan.teams, team_candidates(plan)));
    const bool on_gpu =
        std::ranges::any_of(plan.ranks, [](const RankPlan& rank) { return rank.gpu_memory_bytes > 0; });
    const bool bound = std::ranges::any_of(plan.ranks, [](const RankPlan& rank) { return rank.gpu >= 0; });
    text += fmt::format("\n{:>5}  {:<16} {:<52} {:>12} {:>12}{}{}\n", "rank", "node", "computes on",
                        work.unit + "/s", "host memory", on_gpu ? "   GPU memory" : "",
                        bound ? "  bound to" : "");
    for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
        const RankPlan& rank = plan.ranks[r];
        text += fmt::format("{:>5}  {:<16} {:<52} {:>12.3g} {:>12}", r,
                            plan.nodes[static_cast<std::size_t>(rank.node)], processor_text(plan, rank),
                            rank.units_per_s, bytes_text(static_cast<double>(rank.memory_bytes)));
        if (rank.gpu_memory_bytes > 0)
            text += fmt::format(" {:>12}", bytes_text(static_cast<double>(rank.gpu_memory_bytes)));
        if (rank.gpu >= 0) text += "  " + binding_text(plan, rank);
        text += '\n';
    }
    if (!plan.notes.empty()) text += '\n';
    for (const std::string& note : plan.notes) text += note + '\n';
    for (const std::string& warning : plan.warnings) text += fmt::format("warning: {}\n", warning);
    return text;
}

std::string explain_text(const Plan& plan) {
    std::string text = "\nhow the estimates come about:\n";
    for (const std::string& formula : plan.formulas) text += "  " + formula + "\n";
    if (plan.start_s > 0)
        text += fmt::format("  time to start and to end = {} + {}, beside that of computing\n",
                            duration_text(plan.start_s), duration_text(plan.end_s));
    return text;
}

}  // namespace voltpile
