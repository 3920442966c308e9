#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.h"
#include "cluster/status.h"

namespace voltpile {
namespace {

std::string colored(const std::string& text, const std::string& state, const StatusStyle& style) {
    if (!style.colors) return text;
    const auto color = state == "RUNNING" || state == "COMPLETED"     ? fmt::terminal_color::green
                       : state == "PENDING" || state == "COMPLETING"  ? fmt::terminal_color::yellow
                       : state == "CANCELLED" || state == "SUSPENDED" ? fmt::terminal_color::bright_black
                                                                      : fmt::terminal_color::red;
    return fmt::format(fmt::fg(color), "{}", text);
}

std::string percent_text(const std::optional<ResultProgress>& progress) {
    // An unfinished result must not read 100 %.
    return progress
               ? fmt::format("{:.1f} %", std::min(100 * progress->share(), progress->complete ? 100.0 : 99.9))
               : "";
}

std::string points_text(const std::optional<ResultProgress>& progress) {
    return progress ? count_text(progress->points_done) + " of " + count_text(progress->points) : "";
}

std::string left_text(const JobStatus& status) {
    if (!status.progress || !status.job.running()) return "";
    const auto left_s = status.progress->seconds_left();
    return left_s ? duration_text(*left_s) : "";
}

std::string time_text(const QueuedJob& job) {
    return job.waiting() && job.restarts == 0 ? "of " + job.time_limit
                                              : job.time_used + " of " + job.time_limit;
}

std::string bar(double share, int width) {
    const int filled = static_cast<int>(share * width);
    return "[" + std::string(static_cast<std::size_t>(filled), '#') +
           std::string(static_cast<std::size_t>(width - filled), '.') + "]";
}

// A file that is older than this is that of a server that no longer runs, or cannot write.
constexpr double old_status_s = 10 * kServerStatusPeriod_s;

constexpr std::size_t column_count = 10;
using Row = std::array<std::string, column_count>;
constexpr std::size_t state_column = 2;

Row row_of(const JobStatus& status) {
    const QueuedJob& job = status.job;
    return {job.id,
            job.name,
            job.state,
            job.reason,
            job.nodes,
            time_text(job),
            std::to_string(job.restarts),
            percent_text(status.progress),
            points_text(status.progress),
            left_text(status)};
}

void append_line(std::string& text, std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<10} {}\n", name, value);
}

std::string progress_text(const ResultProgress& progress) {
    if (progress.complete) return fmt::format("complete: {} points", count_text(progress.points));
    std::string text =
        fmt::format("{} {}: {} of {} points", bar(progress.share(), 20), percent_text(progress),
                    count_text(progress.points_done), count_text(progress.points));
    if (const auto left_s = progress.seconds_left())
        text += fmt::format("; at {:.3g} points/s {} left", *progress.points_per_s, duration_text(*left_s));
    return text;
}

std::string commit_text(const ResultProgress& progress) {
    return progress.last_commit_age_s ? duration_text(*progress.last_commit_age_s) + " ago" : "";
}

void append_server(std::string& text, const ServerStatus& server) {
    append_line(text, "address", server.address);
    append_line(text, "load", server_load_text(server));
    append_line(text, "answered", count_text(server.answered) + " requests");
    append_line(text, "host", fmt::format("{}, process {}", server.host, server.process));
}

std::string where_text(const QueuedJob& job) {
    const std::string nodes = job.waiting()
                                  ? fmt::format("for {} node{}", job.nodes, job.nodes == "1" ? "" : "s")
                                  : "on " + job.nodes;
    const std::string start =
        job.waiting() && job.start != "N/A" && !job.start.empty() ? ", start " + job.start : "";
    return fmt::format("{}{} ({}{})", job.reason.empty() ? "" : job.reason + ", ", nodes, job.partition,
                       start);
}

}  // namespace

std::string status_table(const std::vector<JobStatus>& jobs, const StatusStyle& style) {
    if (jobs.empty()) return "no jobs of voltpile in the queue\n";
    std::vector<Row> rows{
        {"job", "name", "state", "reason", "nodes", "time", "restarts", "done", "points", "left"}};
    for (const JobStatus& status : jobs) rows.push_back(row_of(status));
    std::array<std::size_t, column_count> widths{};
    for (const Row& row : rows)
        for (std::size_t c = 0; c < column_count; ++c) widths[c] = std::max(widths[c], row[c].size());
    std::string text;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        std::string line;
        for (std::size_t c = 0; c < column_count; ++c) {
            if (widths[c] == 0) continue;
            const std::string cell = fmt::format("{:<{}}", rows[r][c], widths[c]);
            line += (line.empty() ? "" : "  ") +
                    (r > 0 && c == state_column ? colored(cell, rows[r][c], style) : cell);
        }
        while (line.ends_with(' ')) line.pop_back();
        text += line + "\n";
    }
    for (const JobStatus& status : jobs)
        if (status.server)
            text += fmt::format("job {} serves at {}: {}\n", status.job.id, status.server->address,
                                server_load_text(*status.server));
    return text;
}

std::string job_status_text(const std::vector<JobStatus>& jobs, const StatusStyle& style) {
    std::string text;
    for (const JobStatus& status : jobs) {
        const QueuedJob& job = status.job;
        text += fmt::format("job {} {}\n", job.id, job.name);
        append_line(text, "state", colored(job.state, job.state, style) + ": " + where_text(job));
        append_line(text, "time", time_text(job) + (job.running() ? ", " + job.time_left + " left" : ""));
        append_line(text, "life",
                    fmt::format("{}{}", job.restarts + 1,
                                job.restarts > 0 ? fmt::format(" ({} restarts)", job.restarts) : ""));
    }
    const JobStatus& first = jobs.front();
    if (first.server) {
        append_server(text, *first.server);
        append_line(text, "file", first.job.result.string());
        return text;
    }
    append_line(text, "result", first.job.result.string());
    append_line(text, "progress",
                first.progress ? progress_text(*first.progress)
                : first.job.result.empty()
                    ? "not a job of voltpile's, or started without saying where its result goes"
                    : "nothing committed yet that can be seen from here");
    if (first.progress) append_line(text, "commit", commit_text(*first.progress));
    return text;
}

std::string result_text(const ResultProgress& progress, const std::vector<QueuedJob>& jobs) {
    std::string text = progress.result.string() + "\n";
    append_line(text, "progress", progress_text(progress));
    append_line(text, "commit", commit_text(progress));
    append_line(text, "of", progress.job_path);
    for (const QueuedJob& job : jobs)
        append_line(text, "job", fmt::format("{} {}: {}", job.id, job.state, where_text(job)));
    return text;
}

std::string server_text(const std::string& address_file, const ServerStatus& server) {
    std::string text = address_file + "\n";
    append_server(text, server);
    return text;
}

std::string server_load_text(const ServerStatus& server) {
    const std::string load =
        fmt::format("{}{} running, {} waiting, {:.3g} tokens/s", server.draining ? "stopping: " : "",
                    server.running, server.waiting, server.tokens_per_s);
    return server.age_s() < old_status_s
               ? load
               : fmt::format("no news for {}; {} then", duration_text(server.age_s()), load);
}

}  // namespace voltpile
