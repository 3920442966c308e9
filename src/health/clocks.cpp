#include "health/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/format.h"
#include "base/seconds_since.h"
#include "base/unix_time.h"
#include "comm/mpi/message_tags.h"

namespace voltpile {
namespace {

using nlohmann::json;

constexpr int most_rounds = 20, least_rounds = 5;
constexpr double enough_s = 0.1;  // for one rank
constexpr double largest_clock_offset_s = 1;
// A rank that sleeps between looks answers late.
constexpr std::chrono::milliseconds looks_for{20};

// Half of a round trip is the largest error: the answer may have been written at any moment of it.
ClockOffset ask_for_time(const Communicator& world, int rank) {
    ClockOffset best{0, std::numeric_limits<double>::infinity()};
    const auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < most_rounds; ++round) {
        if (round >= least_rounds && seconds_since(begin) > enough_s) break;
        const auto asked = std::chrono::steady_clock::now();
        const double mine = unix_time();  // later, so that a pause between the two lengthens the round trip
        world.send(rank, kClockTag, "?");
        const double theirs = json::parse(world.wait_for(kClockTag, looks_for).bytes);
        const double half = seconds_since(asked) / 2;
        if (half < best.uncertainty_s) best = {theirs - (mine + half), half};
    }
    world.send(rank, kClockTag, "");
    return best;
}

void answer_with_time(const Communicator& world) {
    std::chrono::milliseconds patience{0};  // other ranks come first
    while (!world.wait_for(kClockTag, patience).bytes.empty()) {
        world.send(0, kClockTag, json(unix_time()).dump());
        patience = looks_for;
    }
}

}  // namespace

ClockOffset compare_clocks(const Communicator& world) {
    std::vector<ClockOffset> clocks(1);  // ahead of rank 0
    if (world.rank() == 0)
        for (int rank = 1; rank < world.size(); ++rank) clocks.push_back(ask_for_time(world, rank));
    else
        answer_with_time(world);
    world.wait_asleep();  // ranks that have answered leave the cores to the others
    json all = json::array();
    for (const ClockOffset& clock : clocks) all.push_back({clock.offset_s, clock.uncertainty_s});
    all = json::parse(world.broadcast(all.dump(), 0));
    clocks.clear();
    for (const json& clock : all) clocks.push_back({clock[0], clock[1]});
    const ClockOffset mine = clocks[static_cast<std::size_t>(world.rank())];
    const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
    std::ranges::nth_element(clocks, middle, {}, &ClockOffset::offset_s);
    return {mine.offset_s - middle->offset_s, mine.uncertainty_s + middle->uncertainty_s};
}

std::optional<NodeFinding> judge_clock(const ClockOffset& clock) {
    const double off = std::abs(clock.offset_s);
    if (off - clock.uncertainty_s <= largest_clock_offset_s) return std::nullopt;
    return NodeFinding{
        Health::Degraded,
        fmt::format("the clock is {} {} those of the other nodes (± {:.2g} ms)", duration_text(off),
                    clock.offset_s > 0 ? "ahead of" : "behind", 1e3 * clock.uncertainty_s),
        "let it follow a time server: timedatectl set-ntp true, or install chrony"};
}

}  // namespace voltpile
