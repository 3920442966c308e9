// How right a result is: a random sample of its points, which a more exact method has computed again. The
// result keeps it as the group /check (docs/result_file.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/result_reader.h"

namespace voltpile {

// Returns `count` different points of `points` in order, the same for the same seed on every machine; all of
// them if there are no more.
std::vector<std::int64_t> sample_points(std::int64_t points, std::int64_t count, std::uint64_t seed);

// What a check did. `fingerprint` is that of the job that computed the reference.
struct CheckRecord {
    std::string method;  // of the reference, for people
    std::string fingerprint;
    std::int64_t seed = 0;
    double within = 0;  // the difference that counts as right, in the unit of each field
};

// The differences of one field at the sampled points: of a field with several numbers the largest of them.
// NaN in both is no difference, NaN in one an infinite one.
struct CheckedField {
    std::string name;
    std::string unit;
    double median = 0;
    double percentile_99 = 0;
    double largest = 0;
    double share_within = 0;  // of the sampled points
};

struct ResultCheck : CheckRecord {
    std::int64_t points = 0;  // sampled
    std::vector<CheckedField> fields;
};

// Returns the check that a complete result has; nothing if it has none, or is not a complete result. Throws
// FileError if it cannot read it.
std::optional<ResultCheck> read_check(const std::filesystem::path& result);

// Adds a check to a complete result, or replaces the one it has. The result is replaced by a copy with the
// check, so it is whole at every moment. reference: the same fields, or some of them, at the points of
// `sample`. Throws FileError.
ResultCheck write_check(const std::filesystem::path& result, const ResultReader& reference,
                        const std::vector<std::int64_t>& sample, const CheckRecord& record);

// "2,000 points against rkn8 at 1e-14: final_state within 0.01 at 99.9 %, median 1e-06; ...".
std::string check_text(const ResultCheck& check);

}  // namespace voltpile
