// A small fictional app with one key of every kind, for tests of the job layer.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "job/job_spec.h"

namespace voltpile::testing {

inline AppSchema bowl_schema() {
    AppSchema schema;
    schema.name = "bowl";
    schema.summary = "Rolls marbles in a bowl.";
    schema.keys = {
        {.path = "bowl.depth",
         .unit = "m",
         .range = {.min = 0, .min_open = true},
         .sweepable = true,
         .help = "Depth."},
        {.path = "bowl.corner",
         .shape = {2, 3},
         .spatial = true,
         .unit = "m",
         .default_value = Reals{0, 0, 0, 1, 1, 1},
         .sweepable = true,
         .help = "Corners."},
        {.path = "bowl.weight",
         .shape = {any_length},
         .unit = "kg",
         .default_value = Reals{1, 2},
         .range = {.min = 0},
         .sweepable = true,
         .help = "Weights of the marbles."},
        {.path = "bowl.limit",
         .unit = "s",
         .default_value = Reals{std::numeric_limits<double>::infinity()},
         .range = {.min = 0, .max = std::numeric_limits<double>::infinity()},
         .help = "Time limit."},
        {.path = "rim.depth",
         .unit = "m",
         .default_value = Reals{1},
         .sweepable = true,
         .help = "Depth of the rim."},
        {.path = "roll.rounds",
         .type = ValueType::Integer,
         .unit = "1",
         .range = {.min = 1, .max = 100},
         .sweepable = true,
         .help = "Rounds."},
        {.path = "roll.mode",
         .type = ValueType::Text,
         .default_value = Texts{"exact"},
         .choices = {"exact", "quick"},
         .help = "How."},
        {.path = "roll.show",
         .type = ValueType::Text,
         .shape = {any_length},
         .default_value = Texts{"time"},
         .choices = {"time", "path"},
         .help = "What to show."},
        {.path = "roll.noisy",
         .type = ValueType::Boolean,
         .default_value = Booleans{false},
         .identity = false,
         .help = "Say more."},
    };
    schema.frames = true;
    schema.example = "app = \"bowl\"\n";
    schema.check = [](const JobSpec& job, const ReportProblem& report) {
        if (job.integer("roll.rounds") == 13) report("roll.rounds", "13 brings bad luck");
    };
    return schema;
}

// A minimal bowl job. Tests append to it; the first appended line is line 7.
inline const std::string bowl_job = "app = \"bowl\"\n[bowl]\ndepth = 2.5\n[roll]\nrounds = 10\n\n";

inline JobSpec parse_bowl(const std::string& text, const std::vector<std::string>& overrides = {}) {
    const std::vector<AppSchema> apps{bowl_schema()};
    return parse_job(text, "b.toml", overrides, apps);
}

// Returns the problems of a job file; "" if it is valid.
inline std::string problems_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
    try {
        parse_bowl(text, overrides);
        return "";
    } catch (const JobError& error) {
        return error.what();
    }
}

inline std::string axis(const std::string& parameter, const std::string& from, const std::string& to,
                        const std::string& count, const std::string& more = "") {
    return "[[sweep]]\nparameter = \"" + parameter + "\"\nfrom = " + from + "\nto = " + to +
           "\ncount = " + count + "\n" + more + "\n";
}

}  // namespace voltpile::testing
