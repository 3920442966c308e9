// How a sweep refines its grid: the table [refine] of a job. docs/refine.md has the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace voltpile {

// The name of the field that says at which level a point was computed.
inline constexpr const char* level_field_name = "level";

struct Refinement {
    std::string field;        // cells are divided where its values at their corners differ
    int levels = 1;           // how often a cell of the coarsest grid may be halved: 1 to 10
    double threshold = 0;     // the largest difference that does not count; 0: any difference counts
    bool relative = false;    // the threshold is a share of the largest absolute value at the corners
    std::int64_t margin = 1;  // cells around a divided one that are divided as well
    std::string place = {};   // where the job file names the field: "job.toml:12"; results do not keep it
};

// Writes a refinement as one line, without its place, which parse_refinement reads: for result files.
std::string refinement_text(const Refinement& refinement);
// Returns nothing if the text is not one of refinement_text().
std::optional<Refinement> parse_refinement(const std::string& text);

}  // namespace voltpile
