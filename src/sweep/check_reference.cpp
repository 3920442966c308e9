#include "sweep/check_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "job/fingerprint.h"
#include "sweep/sample_stream.h"

namespace voltpile {

std::vector<KeySpec> check_keys(const std::string& how) {
    std::vector<KeySpec> keys;
    keys.push_back({.path = "check.points",
                    .type = ValueType::Integer,
                    .unit = "1",
                    .default_value = Integers{0},
                    .range = {.min = 0, .max = 1'000'000},
                    .help = fmt::format("Random points to compute again, {}, once the result is complete; 0: "
                                        "none. The result then states how right it is (/check).",
                                        how)});
    keys.push_back({.path = "check.seed",
                    .type = ValueType::Integer,
                    .unit = "1",
                    .default_value = Integers{1},
                    .range = {.min = 0},
                    .help = "Chooses the random points."});
    keys.push_back({.path = "check.within",
                    .unit = "1",
                    .default_value = Reals{0.01},
                    .range = {.min = 0, .min_open = true},
                    .help = "The absolute difference, in the unit of each field, that counts as right."});
    for (KeySpec& key : keys) key.identity = false;  // the result's values are the same
    return keys;
}

std::optional<CheckPlan> check_from_job(const JobSpec& job, const std::string& method) {
    CheckPlan plan;
    plan.points = job.integer("check.points");
    if (plan.points == 0) return std::nullopt;
    plan.seed = job.integer("check.seed");
    plan.within = job.real("check.within");
    plan.method = method;
    return plan;
}

CheckReference::CheckReference(std::vector<std::int64_t> points, std::string how)
    : SweepApp(Processors::Cores), points_(std::move(points)), how_(std::move(how)) {}

ResultLayout CheckReference::layout(const JobSpec& job) const {
    SweepAxis sample;
    sample.name = "sample";
    sample.unit = "1";
    sample.count = sample_size();
    sample.to = static_cast<double>(sample.count);
    const std::string points = hash_128(fmt::format("{}", fmt::join(points_, " ")));
    return make_layout(job, fields(), {sample}, {{"sample", points}, {"reference", how_}});
}

void CheckReference::sweep_points(PointStream& stream) const {
    SampleStream sample(stream, points_);
    sweep_sample(sample);
}

}  // namespace voltpile
