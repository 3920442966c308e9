// Measures the progress of a result from its files. Reads headers and changes nothing, so the job may be
// running at the same time, anywhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace voltpile {

struct ResultProgress {
    std::filesystem::path result;
    bool complete = false;
    std::int64_t points_done = 0;
    std::int64_t points = 0;
    std::string job_path;
    // Measured on the latest parts; nothing if there are too few.
    std::optional<double> points_per_s;
    std::optional<double> last_commit_age_s;

    double share() const {
        return points > 0 ? static_cast<double>(points_done) / static_cast<double>(points) : 0;
    }
    // Returns nothing if the rate is unknown, or if the last commit is so old that the rate says nothing.
    std::optional<double> seconds_left() const;
};

// Returns nothing if there is neither the result nor parts of it. Throws JobError if the file is damaged or
// not voltpile's.
std::optional<ResultProgress> read_progress(const std::filesystem::path& result);

}  // namespace voltpile
