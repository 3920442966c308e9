#include "command/checkpoint.h"

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "base/unix_time.h"
#include "results/parts/lives_journal.h"
#include "results/parts/part_folder.h"

namespace voltpile::command {

std::vector<std::filesystem::path> paths_that_match(const std::string& pattern) {
    glob_t found{};
    std::vector<std::filesystem::path> paths;
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
        for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
    globfree(&found);
    return paths;
}

std::string literal_pattern(const std::string& text) {
    std::string pattern;
    for (const char c : text) {
        if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
        pattern += c;
    }
    return pattern;
}

std::string checkpoint_pattern(const std::string& text, const TemplateValues& values) {
    TemplateValues literal = values;
    for (auto& [name, value] : literal)
        if (std::holds_alternative<std::string>(value)) value = literal_pattern(std::get<std::string>(value));
    const std::filesystem::path folder(std::get<std::string>(literal.at("folder")));
    return (folder / TextTemplate(text).fill(literal)).string();
}

std::optional<Checkpoint> newest_checkpoint(const std::string& pattern, double begin_s) {
    std::optional<Checkpoint> newest;
    for (const std::filesystem::path& path : paths_that_match(pattern)) {
        struct stat found {};
        if (stat(path.c_str(), &found) != 0) continue;
        const double changed_s =
            static_cast<double>(found.st_mtim.tv_sec) + 1e-9 * static_cast<double>(found.st_mtim.tv_nsec);
        if (changed_s >= (newest ? newest->changed_s : begin_s)) newest = Checkpoint{path, changed_s};
    }
    return newest;
}

void check_checkpoints(const JobSpec& job, const ReportProblem& report) {
    const std::string& pattern = job.text("command.checkpoint");
    if (job.axes().empty() || pattern.empty()) return;
    std::set<std::string> names;
    try {
        const TextTemplate checkpoint(pattern);
        names = checkpoint.names();
        const bool absolute = pattern.starts_with('/') || pattern.starts_with("{job_folder}") ||
                              pattern.starts_with("{result}");
        if (!absolute || names.contains("folder"))
            names.merge(TextTemplate(job.text("command.folder")).names());
    } catch (const JobError&) {
        return;  // check_template() reports it
    }
    const auto named = [&](const SweepAxis& axis) { return names.contains(axis.name); };
    if (!names.contains("point") && !std::ranges::all_of(job.axes(), named))
        report(
            "command.checkpoint",
            fmt::format("command.checkpoint = \"{}\": a point could resume from the checkpoint of another: "
                        "write {{point}} or every axis into command.folder or command.checkpoint",
                        pattern));
}

double begin_of_job(const std::filesystem::path& result) {
    for (const LifeRecord& life : read_lives(parts_path(result))) {
        std::tm utc{};
        if (strptime(life.date.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc)) return static_cast<double>(timegm(&utc));
    }
    return unix_time();
}

}  // namespace voltpile::command
