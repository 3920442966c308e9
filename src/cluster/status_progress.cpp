#include "cluster/status_progress.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/error.h"
#include "results/admission.h"
#include "results/parts/part_folder.h"
#include "results/parts/part_listing.h"
#include "results/result_reader.h"

namespace voltpile {
namespace {

using FileClock = std::filesystem::file_time_type::clock;

// The rate is measured over at most this many parts, the latest.
constexpr std::size_t window_parts = 64;

struct Commit {
    double age_s;
    std::int64_t points;
};

std::vector<Commit> commits_of(const std::vector<PartInfo>& parts) {
    const auto now = FileClock::now();
    std::vector<Commit> commits;
    for (const PartInfo& part : parts) {
        std::error_code gone;
        const auto time = std::filesystem::last_write_time(part.path, gone);
        if (gone) continue;
        commits.push_back({std::chrono::duration<double>(now - time).count(), part.range.size()});
    }
    std::sort(commits.begin(), commits.end(),
              [](const Commit& a, const Commit& b) { return a.age_s < b.age_s; });
    return commits;
}

void measure(const std::vector<PartInfo>& parts, ResultProgress& progress) {
    const std::vector<Commit> commits = commits_of(parts);
    if (commits.empty()) return;
    progress.last_commit_age_s = std::max(0.0, commits.front().age_s);
    const std::size_t count = std::min(commits.size(), window_parts);
    const double seconds = commits[count - 1].age_s - commits.front().age_s;
    std::int64_t points = 0;  // without the oldest part, which was computed before the window begins
    for (std::size_t i = 0; i + 1 < count; ++i) points += commits[i].points;
    if (seconds > 0 && points > 0) progress.points_per_s = static_cast<double>(points) / seconds;
}

std::optional<ResultProgress> progress_of_parts(const std::filesystem::path& result,
                                                const std::filesystem::path& folder) {
    const std::optional<ResultLayout> layout = read_manifest(folder);
    if (!layout) return std::nullopt;
    ResultProgress progress;
    progress.result = result;
    progress.job_path = layout->job_path;
    progress.points = layout->point_count();
    const std::vector<PartInfo> parts = list_parts(folder, *layout);
    for (const PartInfo& part : parts) progress.points_done += part.range.size();
    measure(parts, progress);
    return progress;
}

ResultProgress progress_of_file(const std::filesystem::path& result) {
    const ResultReader reader(result);
    ResultProgress progress;
    progress.result = result;
    progress.complete = reader.complete();
    progress.points = reader.layout().point_count();
    progress.points_done = reader.done();
    progress.job_path = reader.layout().job_path;
    return progress;
}

}  // namespace

std::optional<double> ResultProgress::seconds_left() const {
    if (complete || !points_per_s) return std::nullopt;
    const double left_s = static_cast<double>(points - points_done) / *points_per_s;
    if (last_commit_age_s.value_or(0) > 600) return std::nullopt;
    return left_s;
}

std::optional<ResultProgress> read_progress(const std::filesystem::path& result) {
    try {
        if (result_source(result) == ResultSource::Parts)
            if (auto progress = progress_of_parts(result, parts_path(result))) return progress;
    } catch (const Error&) {
        if (result_source(result) != ResultSource::File)
            throw;  // a run that has just finished has removed the parts
    }
    if (result_source(result) == ResultSource::File) return progress_of_file(result);
    return std::nullopt;
}

}  // namespace voltpile
