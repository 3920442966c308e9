#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/team.h"

namespace voltpile {
namespace {

std::string plural(std::size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// "t181-1: 0 1 2 3"
std::string stage_text(const std::vector<int>& stage, const std::vector<TeamCandidate>& ranks) {
    return fmt::format("{}: {}", ranks[static_cast<std::size_t>(stage.front())].node_name,
                       fmt::join(stage, " "));
}

}  // namespace

std::string to_text(const TeamPlan& plan, const std::vector<TeamCandidate>& ranks) {
    constexpr std::size_t most_teams = 16;
    std::string text = fmt::format("{} of {} of {}\n", plural(plan.teams.size(), "replica"),
                                   plural(static_cast<std::size_t>(plan.pipeline), "pipeline stage"),
                                   plural(static_cast<std::size_t>(plan.tensor), "tensor-parallel rank"));
    for (std::size_t i = 0; i < std::min(plan.teams.size(), most_teams); ++i) {
        std::vector<std::string> stages;
        for (const auto& stage : plan.teams[i].stages) stages.push_back(stage_text(stage, ranks));
        text += fmt::format("{:>9}  {}\n", i, fmt::join(stages, "  ->  "));
    }
    if (plan.teams.size() > most_teams)
        text += fmt::format("{:>9}  and {} more\n", "...", plan.teams.size() - most_teams);
    return text;
}

std::vector<int> nvlink_islands(const std::vector<std::vector<bool>>& linked) {
    std::vector<int> island(linked.size(), -1);
    int next = 0;
    for (std::size_t first = 0; first < linked.size(); ++first) {
        if (island[first] >= 0) continue;
        std::vector<std::size_t> members{first};
        for (std::size_t gpu = first + 1; gpu < linked.size(); ++gpu)
            if (island[gpu] < 0 &&
                std::ranges::all_of(members, [&](std::size_t member) { return linked[member][gpu]; }))
                members.push_back(gpu);
        if (members.size() == 1) continue;
        for (const std::size_t member : members) island[member] = next;
        ++next;
    }
    return island;
}

}  // namespace voltpile
