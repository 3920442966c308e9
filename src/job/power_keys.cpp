#include "job/power_keys.h"

#include <fmt/format.h>

#include <limits>

namespace voltpile {

namespace {

constexpr double kNoSupply = std::numeric_limits<double>::infinity();

}  // namespace

std::vector<KeySpec> power_keys() {
    return {
        {.path = "power.supply_w",
         .unit = "W",
         .default_value = Reals{kNoSupply},
         .range = {.min = 0, .max = kNoSupply, .min_open = true},
         .identity = false,
         .help = "What the supply of each node can deliver. The GPUs of a node together get what "
                 "power.other_w leaves: while they would draw more over a second, they rest for a share of "
                 "the time."},
        {.path = "power.other_w",
         .unit = "W",
         .default_value = Reals{0.0},
         .range = {.min = 0},
         .identity = false,
         .help = "What everything but the GPUs draws from the node's supply: processors, memory, fans."},
        {.path = "power.hold_by",
         .type = ValueType::Text,
         .default_value = Texts{"rests"},
         .choices = {"rests", "clocks"},
         .identity = false,
         .help =
             "How the GPUs stay within power.supply_w. clocks: their clocks are lowered in steps until no "
             "rests are needed; rests only bridge the time until then. Setting clocks needs root; "
             "without, they rest."},
        {.path = "power.ramp_ms",
         .type = ValueType::Integer,
         .unit = "ms",
         .default_value = Integers{0},
         .range = {.min = 0, .max = 10000},
         .identity = false,
         .help = "The GPUs of a node begin this long one after another; those that share a language model "
                 "work in step and begin with pauses that become shorter."},
        {.path = "power.limit_w",
         .unit = "W",
         .default_value = Reals{0.0},
         .range = {.min = 0, .max = 10000},
         .identity = false,
         .help = "Power limit of each GPU of a node while the job runs; 0: as it is. Setting it needs root; "
                 "without, the run prints the command for an administrator and goes on."},
        {.path = "power.sm_clock_mhz",
         .type = ValueType::Integer,
         .unit = "MHz",
         .default_value = Integers{0},
         .range = {.min = 0, .max = 10000},
         .identity = false,
         .help = "Highest clock of each GPU of a node while the job runs; 0: as it is. It stops the short "
                 "peaks that a power limit lets through. Set as application clock, or as locked clock on "
                 "GPUs without application clocks."},
        {.path = "power.memory_clock_mhz",
         .type = ValueType::Integer,
         .unit = "MHz",
         .default_value = Integers{0},
         .range = {.min = 0, .max = 50000},
         .identity = false,
         .help = "Memory clock that goes with power.sm_clock_mhz where it is an application clock; 0: as it "
                 "is."},
    };
}

void check_power_keys(const JobSpec& job, const ReportProblem& report) {
    if (job.integer("power.memory_clock_mhz") > 0 && job.integer("power.sm_clock_mhz") == 0)
        report("power.memory_clock_mhz",
               "power.memory_clock_mhz goes with power.sm_clock_mhz, which is not set");
    if (const PowerRequest power = power_request(job); power.limits_supply() && power.gpu_budget_w() <= 0)
        report("power.other_w",
               fmt::format("power.other_w = {:.5g} W leaves the GPUs nothing of power.supply_w = "
                           "{:.5g} W",
                           power.other_w, power.supply_w));
    if (job.real("power.other_w") > 0 && !power_request(job).limits_supply())
        report("power.other_w", "power.other_w goes with power.supply_w, which is not set");
    if (power_request(job).lowers_clocks && !power_request(job).limits_supply())
        report("power.hold_by", "power.hold_by goes with power.supply_w, which is not set");
    if (job.text("run.device") != "cpu") return;
    for (const KeySpec& key : power_keys()) {
        const bool usual =
            key.type == ValueType::Real   ? job.reals(key.path) == std::get<Reals>(*key.default_value)
            : key.type == ValueType::Text ? job.text(key.path) == std::get<Texts>(*key.default_value).front()
                                          : job.integers(key.path) == std::get<Integers>(*key.default_value);
        if (!usual) report(key.path, key.path + ": is for GPUs, but run.device = \"cpu\"");
    }
}

PowerRequest power_request(const JobSpec& job) {
    return {.supply_w = job.real("power.supply_w"),
            .other_w = job.real("power.other_w"),
            .ramp_ms = static_cast<int>(job.integer("power.ramp_ms")),
            .limit_w = job.real("power.limit_w"),
            .sm_clock_mhz = static_cast<double>(job.integer("power.sm_clock_mhz")),
            .memory_clock_mhz = static_cast<double>(job.integer("power.memory_clock_mhz")),
            .lowers_clocks = job.text("power.hold_by") == "clocks"};
}

}  // namespace voltpile
