#include "job/fingerprint.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace voltpile {
namespace {

bool is_default(const JobSpec& job, const KeySpec& spec) {
    if (!spec.default_value) return false;
    switch (spec.type) {
        case ValueType::Real:
            return job.reals(spec.path) == std::get<Reals>(*spec.default_value);
        case ValueType::Integer:
            return job.integers(spec.path) == std::get<Integers>(*spec.default_value);
        case ValueType::Boolean:
            return job.booleans(spec.path) == std::get<Booleans>(*spec.default_value);
        case ValueType::Text:
            return job.texts(spec.path) == std::get<Texts>(*spec.default_value);
    }
    return false;
}

std::string canonical(const JobSpec& job, const KeySpec& spec) {
    std::string text;
    switch (spec.type) {
        case ValueType::Real:
            for (const double x : job.reals(spec.path)) text += fmt::format(" {:.17g}", x);
            break;
        case ValueType::Integer:
            for (const auto x : job.integers(spec.path)) text += fmt::format(" {}", x);
            break;
        case ValueType::Boolean:
            for (const bool x : job.booleans(spec.path)) text += x ? " true" : " false";
            break;
        case ValueType::Text:  // lengths keep different lists of strings apart
            for (const auto& x : job.texts(spec.path)) text += fmt::format(" {}:{}", x.size(), x);
            break;
    }
    return text;
}

}  // namespace

std::string canonical_text(const JobSpec& job, const AppSchema& app, const KeyTable& table) {
    std::string text = fmt::format("app {} {}\n", app.name, app.numerics_version);
    for (const auto& spec : table.rows())
        if (spec.identity && !(has_any_name(spec) && spec.type == ValueType::Real) && !is_item_key(spec) &&
            spec.path != "app" && (spec.identity_default || !is_default(job, spec)))
            text += fmt::format("{}{}\n", spec.path, canonical(job, spec));
    for (const auto& axis : job.axes())
        text += fmt::format("axis {} {} {:.17g} {:.17g} {} {}\n", axis.name, axis.parameter, axis.from,
                            axis.to, axis.count, axis.endpoint);
    for (const auto& change : job.frame_changes()) text += fmt::format("frames {}\n", change_text(change));
    return text;
}

std::string hash_128(const std::string& text) {
    const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace voltpile
