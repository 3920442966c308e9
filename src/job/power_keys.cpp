#include "job/power_keys.h"

namespace voltpile {

std::vector<KeySpec> power_keys() {
    return {
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
    if (job.text("run.device") != "cpu") return;
    for (const KeySpec& key : power_keys())
        if (const bool set = key.type == ValueType::Real
                                 ? job.reals(key.path) != std::get<Reals>(*key.default_value)
                                 : job.integer(key.path) != 0;
            set)
            report(key.path, key.path + ": is for GPUs, but run.device = \"cpu\"");
}

PowerRequest power_request(const JobSpec& job) {
    return {job.real("power.limit_w"), static_cast<double>(job.integer("power.sm_clock_mhz")),
            static_cast<double>(job.integer("power.memory_clock_mhz"))};
}

}  // namespace voltpile
