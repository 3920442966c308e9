#include "cluster/result_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "base/error.h"
#include "base/format.h"
#include "results/admission.h"
#include "results/parts/part_listing.h"
#include "results/result_reader.h"
#include "results/result_state.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

// Skips entries that a run creates or removes in the meantime.
double age_of(const fs::path& path) {
    std::error_code error;
    const auto time = fs::last_write_time(path, error);
    if (error) return 0;
    const std::chrono::duration<double> age = fs::file_time_type::clock::now() - time;
    return std::max(0.0, age.count());
}

void measure_folder(const fs::path& folder, FoundResult& found) {
    found.age_s = age_of(folder);
    std::error_code error;
    for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        std::error_code gone;
        if (!it->is_regular_file(gone) || gone) continue;
        found.age_s = std::min(found.age_s, age_of(it->path()));
        if (const std::uintmax_t bytes = it->file_size(gone); !gone) found.bytes += bytes;
    }
}

FoundResult read_parts_folder(const fs::path& folder) {
    FoundResult found;
    found.kind = FoundKind::Unfinished;
    found.place = folder;
    found.result = fs::path(folder).replace_extension();
    measure_folder(folder, found);
    found.writers = writers_of(folder);
    try {
        if (const auto layout = read_manifest(folder)) {
            found.app = layout->app;
            found.job_path = layout->job_path;
            found.points = layout->point_count();
            for (const PartInfo& part : list_parts(folder, *layout)) found.points_done += part.range.size();
            if (admit(found.result, *layout, {}).verdict == Admission::Verdict::Complete)
                found.kind = FoundKind::LeftOver;
        }
    } catch (const Error& error) {
        found.problem = error.what();
    }
    return found;
}

void add_file(const fs::path& path, std::vector<FoundResult>& all) {
    FoundResult found;
    found.place = found.result = path;
    try {
        const ResultFile file = read_result_file(path, CheckDepth::Structure);
        if (file.state == ResultState::NotOurs || file.state == ResultState::Absent) return;
        if (file.state == ResultState::Damaged) found.kind = FoundKind::Damaged;
        found.problem = file.problem;
    } catch (const Error&) {
        return;  // may not be read
    }
    std::error_code error;
    found.bytes = fs::file_size(path, error);
    found.age_s = age_of(path);
    if (found.kind == FoundKind::Complete) {
        try {
            const ResultReader reader(path);
            found.app = reader.layout().app;
            found.job_path = reader.layout().job_path;
            found.points = reader.layout().point_count();
            found.points_done = reader.done();
        } catch (const Error& problem) {
            found.kind = FoundKind::Damaged;
            found.problem = problem.what();
        }
    }
    all.push_back(std::move(found));
}

std::string running_text(const FoundResult& found) {
    std::string text;
    for (const PartsWriter& writer : found.writers)
        text += (text.empty() ? "" : "; ") + (writer.run ? writer.run->text() : std::string("running"));
    return text;
}

}  // namespace

FolderListing list_jobs_in(const fs::path& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error))
        throw JobError(folder.string() +
                       (fs::exists(folder, error) ? " is not a folder" : ": there is no such folder"));
    FolderListing all;
    constexpr auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator it(folder, options, error), end; !error && it != end;
         it.increment(error)) {
        const fs::path path = it->path();
        std::error_code gone;
        const fs::file_status status = it->symlink_status(gone);
        if (fs::is_directory(status)) {
            const bool hidden = path.filename().string().starts_with(".");
            const bool parts = !hidden && is_parts_folder(path);
            if (parts) all.results.push_back(read_parts_folder(path));
            if (parts || hidden) it.disable_recursion_pending();
        } else if (fs::is_regular_file(status)) {
            if (auto server = server_of_file(path))
                all.servers.push_back(std::move(*server));
            else
                add_file(path, all.results);
        }
    }
    if (error) throw FileError("list", folder.string(), error.value());
    std::ranges::sort(all.results, {}, &FoundResult::place);
    std::ranges::sort(all.servers, {}, &FoundServer::address_file);
    return all;
}

std::string progress_text(const FoundResult& found) {
    switch (found.kind) {
        case FoundKind::Complete:
            return "complete";
        case FoundKind::LeftOver:
            return "left over";
        case FoundKind::Damaged:
            return "damaged";
        case FoundKind::Unfinished:
            break;
    }
    if (found.points == 0) return "unfinished";
    // Not 100 % before the result is there.
    return fmt::format("{:.1f} %", std::min(99.9, 100 * static_cast<double>(found.points_done) /
                                                      static_cast<double>(found.points)));
}

std::string listing_text(const std::vector<FoundResult>& found, const fs::path& folder) {
    if (found.empty()) return fmt::format("no results and no unfinished jobs under {}\n", folder.string());
    using Row = std::array<std::string, 7>;
    std::vector<Row> rows{{"done", "app", "points", "size", "age", "run", "path"}};
    for (const FoundResult& each : found)
        rows.push_back({progress_text(each), each.app, each.points > 0 ? count_text(each.points) : "",
                        bytes_text(static_cast<double>(each.bytes)), duration_text(each.age_s),
                        running_text(each), each.result.string()});
    std::array<std::size_t, 7> widths{};
    for (const Row& row : rows)
        for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    if (std::ranges::all_of(found, [](const FoundResult& each) { return each.writers.empty(); }))
        widths[5] = 0;  // no run is writing
    std::string text;
    for (const Row& row : rows) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c)
            if (widths[c] > 0) line += fmt::format("{:<{}}  ", row[c], widths[c]);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace voltpile
