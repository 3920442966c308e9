// How far a result is, from its files alone: reads headers, touches nothing, so that the job may be running
// at the same time, anywhere.
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
    // Of what has been committed last; nothing where too little has been to tell.
    std::optional<double> points_per_s;
    std::optional<double> last_commit_age_s;

    double share() const {
        return points > 0 ? static_cast<double>(points_done) / static_cast<double>(points) : 0;
    }
    // Nothing if the rate is not known, or if nothing has been committed for so long that it tells nothing.
    std::optional<double> seconds_left() const;
};

// Nothing if there is neither the result nor parts of it. Throws JobError if what is there is not voltpile's.
std::optional<ResultProgress> read_progress(const std::filesystem::path& result);

}  // namespace voltpile
