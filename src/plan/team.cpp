#include "plan/team.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "base/error.h"

namespace voltpile {
namespace {

// Ranks that may form tensor-parallel groups: those of one node and NVLink island.
struct Cell {
    std::string name;  // "t181-1"
    std::vector<int> ranks;
};

std::vector<Cell> cells_of(const std::vector<TeamCandidate>& ranks) {
    const bool any_gpu =
        std::ranges::any_of(ranks, [](const TeamCandidate& rank) { return rank.has_gpu && !rank.excluded; });
    std::map<std::pair<int, int>, Cell> cells;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        if (ranks[r].excluded || (any_gpu && !ranks[r].has_gpu)) continue;
        Cell& cell = cells[{ranks[r].node, ranks[r].island}];
        cell.name = ranks[r].node_name;
        cell.ranks.push_back(static_cast<int>(r));
    }
    std::vector<Cell> list;
    list.reserve(cells.size());
    for (auto& [key, cell] : cells) list.push_back(std::move(cell));
    return list;
}

class TeamPlanner {
  public:
    TeamPlanner(const TeamShape& shape, const std::vector<TeamCandidate>& ranks)
        : shape_(shape), ranks_(ranks), cells_(cells_of(ranks)) {
        for (const Cell& cell : cells_) {
            largest_ = std::max(largest_, static_cast<int>(cell.ranks.size()));
            for (const int r : cell.ranks)
                least_memory_ = std::min(least_memory_, ranks[static_cast<std::size_t>(r)].memory_bytes);
        }
    }

    TeamPlan plan() const {
        check_limits();
        const Choice best = choose();
        TeamPlan plan;
        plan.tensor = best.tensor;
        plan.pipeline = best.pipeline;
        plan.places.resize(ranks_.size());
        std::vector<std::vector<int>> groups = groups_of(best.tensor);
        for (int replica = 0; replica < best.replicas; ++replica) {
            const auto first = groups.begin() + std::ptrdiff_t{replica} * best.pipeline;
            plan.teams.push_back({{first, first + best.pipeline}});
            for (int stage = 0; stage < best.pipeline; ++stage)
                for (int t = 0; t < best.tensor; ++t)
                    plan.places[static_cast<std::size_t>(first[stage][static_cast<std::size_t>(t)])] = {
                        replica, stage, t};
        }
        note_idle_ranks(plan);
        return plan;
    }

  private:
    struct Choice {
        int tensor = 1;
        int pipeline = 1;
        int replicas = 0;
        int busy() const { return tensor * pipeline * replicas; }
    };

    // Messages name the command-line options that set these counts.
    void check_limits() const {
        if (shape_.tensor < 0 || shape_.pipeline < 0 || shape_.replicas < 0)
            throw JobError("tensor-parallel ranks, pipeline stages and replicas cannot be negative");
        if (shape_.tensor > 0 && !divides(shape_.tensor))
            throw JobError(fmt::format("--tensor {} does not divide the model's {} heads; possible: {}",
                                       shape_.tensor, shape_.tensor_divides, fmt::join(tensors(), ", ")));
        if (shape_.most_stages > 0 && shape_.pipeline > shape_.most_stages)
            throw JobError(fmt::format("--pipeline {}: the model has {} layers, so at most {} stages",
                                       shape_.pipeline, shape_.most_stages, shape_.most_stages));
        if (shape_.tensor > largest_) {
            const auto cell =
                std::ranges::max_element(cells_, {}, [](const Cell& each) { return each.ranks.size(); });
            throw MachineError(
                fmt::format("--tensor {}: no node (and NVLink island) has so many ranks; {} has {}; "
                            "possible: {}",
                            shape_.tensor, cell == cells_.end() ? "none" : cell->name, largest_,
                            fmt::join(tensors(), ", ")));
        }
    }

    bool divides(int tensor) const { return shape_.tensor_divides % tensor == 0; }

    // Returns the possible sizes of a tensor-parallel group.
    std::vector<int> tensors() const {
        std::vector<int> all;
        for (int t = 1; t <= largest_; ++t)
            if (divides(t)) all.push_back(t);
        return all;
    }

    std::vector<std::vector<int>> groups_of(int tensor) const {
        std::vector<std::vector<int>> groups;
        for (const Cell& cell : cells_)
            for (std::size_t i = 0; i + static_cast<std::size_t>(tensor) <= cell.ranks.size();
                 i += static_cast<std::size_t>(tensor))
                groups.emplace_back(cell.ranks.begin() + static_cast<std::ptrdiff_t>(i),
                                    cell.ranks.begin() + static_cast<std::ptrdiff_t>(i) + tensor);
        return groups;
    }

    // Returns the fewest stages that hold the model, judged by the processor with the least memory.
    std::int64_t stages_for_memory(int tensor) const {
        if (shape_.memory_bytes <= 0) return 1;
        const std::int64_t stage = std::max<std::int64_t>(least_memory_, 1) * tensor;
        return std::max<std::int64_t>(1, (shape_.memory_bytes + stage - 1) / stage);
    }

    // Returns the best choice with this group size, or nothing if there are too few groups.
    std::optional<Choice> with_tensor(int tensor) const {
        const auto groups = static_cast<int>(groups_of(tensor).size());
        const std::int64_t needed = stages_for_memory(tensor);
        std::int64_t stages = shape_.pipeline;
        if (stages == 0) stages = shape_.replicas > 0 ? groups / shape_.replicas : needed;
        if (shape_.pipeline == 0 && shape_.most_stages > 0)
            stages = std::min<std::int64_t>(stages, shape_.most_stages);
        if (stages < needed || stages < 1 || stages > groups) return std::nullopt;
        Choice choice{tensor, static_cast<int>(stages), 0};
        choice.replicas = shape_.replicas > 0 ? shape_.replicas : groups / choice.pipeline;
        if (std::int64_t{choice.replicas} * choice.pipeline > groups) return std::nullopt;
        return choice;
    }

    Choice choose() const {
        const std::vector<int> candidates = shape_.tensor > 0 ? std::vector{shape_.tensor} : tensors();
        std::optional<Choice> best;
        for (const int tensor : candidates)
            if (const auto choice = with_tensor(tensor))
                if (!best ||
                    std::tuple(choice->busy(), choice->tensor) > std::tuple(best->busy(), best->tensor))
                    best = choice;
        if (!best) refuse(candidates);
        return *best;
    }

    [[noreturn]] void refuse(const std::vector<int>& candidates) const {
        std::vector<std::string> room;
        for (const int tensor : candidates) {
            const auto groups = groups_of(tensor).size();
            const std::int64_t needed = stages_for_memory(tensor);
            room.push_back(
                fmt::format("--tensor {} makes {} group{}{}", tensor, groups, groups == 1 ? "" : "s",
                            needed > 1 ? fmt::format(" and needs {} of them for the memory", needed) : ""));
        }
        std::vector<std::string> wanted;
        if (shape_.tensor > 0) wanted.push_back(fmt::format("--tensor {}", shape_.tensor));
        if (shape_.pipeline > 0) wanted.push_back(fmt::format("--pipeline {}", shape_.pipeline));
        if (shape_.replicas > 0)
            wanted.push_back(fmt::format("{} replica{}", shape_.replicas, shape_.replicas == 1 ? "" : "s"));
        throw MachineError(fmt::format(
            "{} do not fit {} rank{}: {}; stages times replicas must not exceed the number of groups",
            wanted.empty() ? "teams" : fmt::format("{}", fmt::join(wanted, ", ")), usable(),
            usable() == 1 ? "" : "s", fmt::join(room, ", ")));
    }

    std::size_t usable() const {
        return ranks_.size() -
               static_cast<std::size_t>(std::ranges::count(ranks_, true, &TeamCandidate::excluded));
    }

    void note_idle_ranks(TeamPlan& plan) const {
        constexpr std::size_t most_named = 8;
        std::vector<std::size_t> idle;
        for (std::size_t r = 0; r < plan.places.size(); ++r)
            if (plan.places[r].replica < 0 && !ranks_[r].excluded) idle.push_back(r);
        if (idle.empty()) return;
        const std::size_t count = idle.size();
        idle.resize(std::min(count, most_named));
        plan.notes.push_back(fmt::format(
            "{} rank{} in no team: {}{}; {} replica{} of {} stage{} of {} use {} of {} ranks", count,
            count == 1 ? " is" : "s are", fmt::join(idle, ", "), count > most_named ? " ..." : "",
            plan.teams.size(), plan.teams.size() == 1 ? "" : "s", plan.pipeline,
            plan.pipeline == 1 ? "" : "s", plan.tensor, usable() - count, usable()));
    }

    const TeamShape& shape_;
    const std::vector<TeamCandidate>& ranks_;
    std::vector<Cell> cells_;
    int largest_ = 0;
    std::int64_t least_memory_ = std::numeric_limits<std::int64_t>::max();
};

// Makes every rank a team of its own, with or without GPU.
TeamPlan single_ranks(std::size_t count) {
    TeamPlan plan;
    for (std::size_t r = 0; r < count; ++r) {
        plan.teams.push_back({{{static_cast<int>(r)}}});
        plan.places.push_back({static_cast<int>(r), 0, 0});
    }
    return plan;
}

std::string plural(std::size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// "t181-1: 0 1 2 3"
std::string stage_text(const std::vector<int>& stage, const std::vector<TeamCandidate>& ranks) {
    return fmt::format("{}: {}", ranks[static_cast<std::size_t>(stage.front())].node_name,
                       fmt::join(stage, " "));
}

}  // namespace

TeamPlan plan_teams(const TeamShape& shape, const std::vector<TeamCandidate>& ranks) {
    if (shape.single() && shape.replicas == 0 && shape.memory_bytes == 0) return single_ranks(ranks.size());
    return TeamPlanner(shape, ranks).plan();
}

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
