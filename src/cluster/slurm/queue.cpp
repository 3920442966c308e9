#include "cluster/slurm/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "base/process.h"
#include "cluster/slurm/machine.h"
#include "cluster/slurm/script.h"

namespace voltpile {
namespace {

// Separates columns: does not occur in names, paths or comments.
constexpr char kColumnSeparator = '\x1f';

std::vector<std::string> columns_of(std::string_view line) {
    std::vector<std::string> columns;
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find(kColumnSeparator, begin), line.size());
        columns.push_back(trimmed(line.substr(begin, end - begin)));
        begin = end + 1;
    }
    return columns;
}

std::vector<std::vector<std::string>> table_of(std::string_view output) {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t begin = 0; begin < output.size();) {
        const std::size_t end = std::min(output.find('\n', begin), output.size());
        if (end > begin) rows.push_back(columns_of(output.substr(begin, end - begin)));
        begin = end + 1;
    }
    return rows;
}

std::string ask_queue(const std::vector<std::string>& which, const std::string& option,
                      const std::string& format) {
    std::vector<std::string> command{"squeue", "--noheader", "--states=all", option + format};
    command.insert(command.end(), which.begin(), which.end());
    return ask_slurm(command);
}

std::vector<QueuedJob> read_queue(const std::vector<std::string>& which) {
    const std::string jobs = ask_queue(which, "--format=", queue_format());
    return parse_queue(jobs, ask_queue(which, "--Format=", restarts_format()));
}

}  // namespace

std::string queue_format() {
    // Id, name, partition, state, reason, nodes, their number, time used, limit, left, start, comment.
    std::string format;
    for (char field : std::string_view("ijPTrNDMlLSk")) {
        if (!format.empty()) format += kColumnSeparator;
        format += {'%', field};
    }
    return format;
}

std::string restarts_format() {
    return "JobArrayID:64,RestartCnt:16";
}

std::vector<QueuedJob> parse_queue(std::string_view jobs, std::string_view restarts) {
    std::map<std::string, int> restarts_of;
    for (std::size_t begin = 0; begin < restarts.size();) {
        const std::size_t end = std::min(restarts.find('\n', begin), restarts.size());
        const std::string_view line = restarts.substr(begin, end - begin);
        if (line.size() > 64)
            restarts_of[trimmed(line.substr(0, 64))] = std::atoi(trimmed(line.substr(64)).c_str());
        begin = end + 1;
    }
    std::vector<QueuedJob> queue;
    for (std::vector<std::string>& row : table_of(jobs)) {
        if (row.size() < 12) continue;
        QueuedJob job;
        job.id = row[0];
        job.name = row[1];
        job.partition = row[2];
        job.state = row[3];
        job.reason = row[4] == "None" ? "" : row[4];
        job.nodes = row[5].empty() ? row[6] : row[5];
        job.time_used = row[7];
        job.time_limit = row[8];
        job.time_left = row[9];
        job.start = row[10];
        job.result = result_of_comment(row[11]);
        if (const auto found = restarts_of.find(job.id); found != restarts_of.end())
            job.restarts = found->second;
        queue.push_back(std::move(job));
    }
    return queue;
}

std::vector<QueuedJob> read_my_queue() {
    std::vector<QueuedJob> queue = read_queue({"--me"});
    std::erase_if(queue, [](const QueuedJob& job) { return job.result.empty(); });
    return queue;
}

bool QueuedJob::ended() const {
    static constexpr std::array<std::string_view, 9> living{"PENDING",      "RUNNING",     "SUSPENDED",
                                                            "COMPLETING",   "CONFIGURING", "REQUEUED",
                                                            "REQUEUE_HOLD", "STOPPED",     "RESIZING"};
    return std::ranges::find(living, state) == living.end();
}

bool is_job_id(const std::string& subject) {
    const auto is_number = [](std::string_view text) {
        return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    const std::string_view text = subject;
    const std::size_t cut = text.find('_');
    const bool looks_like_one =
        is_number(text.substr(0, cut)) && (cut == std::string_view::npos || is_number(text.substr(cut + 1)));
    std::error_code error;
    return looks_like_one && !std::filesystem::exists(subject, error);
}

std::vector<QueuedJob> jobs_that_write(const std::filesystem::path& result) {
    if (!find_program("squeue")) return {};
    try {
        std::vector<QueuedJob> jobs = read_my_queue();
        const std::filesystem::path absolute = std::filesystem::absolute(result).lexically_normal();
        std::erase_if(jobs, [&](const QueuedJob& job) { return job.result.lexically_normal() != absolute; });
        return jobs;
    } catch (const MachineError&) {
        return {};  // a query by file works without Slurm
    }
}

std::vector<QueuedJob> read_job(const std::string& id) {
    std::vector<QueuedJob> queue;
    try {
        queue = read_queue({"--jobs=" + id});
    } catch (const MachineError& error) {
        if (std::string_view(error.what()).find("Invalid job id") == std::string_view::npos) throw;
    }
    if (queue.empty())
        throw JobError(fmt::format(
            "Slurm knows no job {} (any more); `voltpile status FILE` reads a result without Slurm", id));
    return queue;
}

}  // namespace voltpile
