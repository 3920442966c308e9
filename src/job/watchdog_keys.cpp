#include "job/watchdog_keys.h"

#include <fmt/format.h>

#include <limits>

namespace voltpile {
namespace {

KeySpec deadline_key(std::string_view name, double usual, std::string help) {
    return {.path = fmt::format("watchdog.{}_s", name),
            .unit = "s",
            .default_value = Reals{usual},
            .range = {.min = 1, .max = std::numeric_limits<double>::infinity()},
            .identity = false,
            .help = std::move(help)};
}

constexpr std::array<const char*, kPhases> kPhaseHelp{
    "The job ends, and names the rank, if a rank's loop of messages stands still for this long.",
    "The same for a rank that reads a model and gets no further piece of it.",
    "The same for a rank that computes and does not come further: a range or a pass may take any time while "
    "its steps go on.",
    "The same for a rank that waits for its tensor-parallel group, unless another rank of its team moves. "
    "The rank that does not wait is the one that is named.",
    "The same for a rank that waits for another pipeline stage.",
    "The same for a rank that writes a part and whose file system does not answer."};

}  // namespace

std::vector<KeySpec> watchdog_keys() {
    const WatchdogDeadlines usual;
    std::vector<KeySpec> rows{
        deadline_key(
            "silent", usual.silent,
            "A rank that gives no sign of life for this long counts as lost: its process is "
            "suspended, its node is down or the link to it is cut. The job ends with exit code 4 and "
            "names it; a server goes on without its replica. inf: never."),
        deadline_key("gone", usual.gone,
                     "The same for a rank whose process has ended, if the launcher does not end the job.")};
    for (std::size_t phase = 0; phase < kPhases; ++phase)
        rows.push_back(deadline_key(kPhaseNames[phase], usual.phases[phase], kPhaseHelp[phase]));
    return rows;
}

WatchdogDeadlines watchdog_deadlines(const JobSpec& job) {
    WatchdogDeadlines deadlines{job.real("watchdog.silent_s"), job.real("watchdog.gone_s"), {}};
    for (std::size_t phase = 0; phase < kPhases; ++phase)
        deadlines.phases[phase] = job.real(fmt::format("watchdog.{}_s", kPhaseNames[phase]));
    return deadlines;
}

}  // namespace voltpile
