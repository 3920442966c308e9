#include "health/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/format.h"
#include "base/seconds_since.h"
#include "base/unix_time.h"

namespace voltpile {
namespace {

constexpr int clock_rounds = 5;
constexpr double largest_clock_offset_s = 1;

}  // namespace

ClockOffset compare_clocks(const Communicator& world) {
    ClockOffset best;
    for (int round = 0; round < clock_rounds; ++round) {
        world.all_gather("");  // all leave it at about the same moment
        const auto begin = std::chrono::steady_clock::now();
        const double mine = unix_time();
        const std::vector<std::string> all = world.all_gather(nlohmann::json(mine).dump());
        // The rank that read its clock first has waited for the last one.
        const double took = seconds_since(begin);
        double longest = 0;
        for (const std::string& each : world.all_gather(nlohmann::json(took).dump()))
            longest = std::max(longest, nlohmann::json::parse(each).get<double>());
        std::vector<double> times;
        for (const std::string& each : all) times.push_back(nlohmann::json::parse(each));
        const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
        std::nth_element(times.begin(), middle, times.end());
        if (round == 0 || longest < best.uncertainty_s) best = {mine - *middle, longest};
    }
    return best;
}

std::optional<NodeFinding> judge_clock(const ClockOffset& clock) {
    const double off = std::abs(clock.offset_s);
    if (off - clock.uncertainty_s <= largest_clock_offset_s) return std::nullopt;
    return NodeFinding{Health::Degraded,
                       fmt::format("the clock is {} {} those of the other nodes", duration_text(off),
                                   clock.offset_s > 0 ? "ahead of" : "behind"),
                       "let it follow a time server: timedatectl set-ntp true, or install chrony"};
}

}  // namespace voltpile
