#include "cluster/status.h"

#include <map>

#include "base/error.h"

namespace voltpile {
namespace {

// Report the job even if its result cannot be read.
std::optional<ResultProgress> progress_if_readable(const std::filesystem::path& result) {
    if (result.empty()) return std::nullopt;
    try {
        return read_progress(result);
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::vector<JobStatus> with_progress(std::vector<QueuedJob> jobs) {
    std::map<std::filesystem::path, std::optional<ResultProgress>>
        known;  // the elements of an array share one result
    std::vector<JobStatus> all;
    for (QueuedJob& job : jobs) {
        auto [it, is_new] = known.try_emplace(job.result);
        if (is_new) it->second = progress_if_readable(job.result);
        // A run that was killed leaves the file of its server.
        const bool serves = !job.result.empty() && job.running();
        const std::optional<ServerStatus> server = serves ? find_server_status(job.result) : std::nullopt;
        all.push_back({std::move(job), it->second, server});
    }
    return all;
}

std::string status_of_file(const std::string& path) {
    if (const auto server = read_server_status(server_status_path(path))) return server_text(path, *server);
    const std::optional<ResultProgress> progress = read_progress(path);
    const std::vector<QueuedJob> jobs = jobs_that_write(path);
    if (progress) return result_text(*progress, jobs);
    if (jobs.empty())
        throw JobError(path +
                       ": there is no such result, finished or not, no such server, and no job writes it");
    return job_status_text(with_progress(jobs), {});
}

}  // namespace

std::string status(const std::string& subject, const StatusStyle& style) {
    if (subject.empty()) return status_table(with_progress(read_my_queue()), style);
    if (is_job_id(subject)) return job_status_text(with_progress(read_job(subject)), style);
    return status_of_file(subject);
}

}  // namespace voltpile
