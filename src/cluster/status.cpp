#include "cluster/status.h"

#include <map>
#include <string_view>

#include "base/error.h"
#include "cluster/process.h"

namespace voltpile {
namespace {

// A result that cannot be read is no reason to say nothing about its job.
std::optional<ResultProgress> progress_if_readable(const std::filesystem::path& result) {
    if (result.empty()) return std::nullopt;
    try {
        return read_progress(result);
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::vector<JobStatus> with_progress(std::vector<QueuedJob> jobs) {
    std::map<std::filesystem::path, std::optional<ResultProgress>> known;  // elements of an array share one
    std::vector<JobStatus> all;
    for (QueuedJob& job : jobs) {
        auto [it, is_new] = known.try_emplace(job.result);
        if (is_new) it->second = progress_if_readable(job.result);
        all.push_back({std::move(job), it->second});
    }
    return all;
}

// "123", or "123_4": an element of an array.
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
        return {};  // the file was asked for, not Slurm
    }
}

std::string status_of_result(const std::string& path) {
    const std::optional<ResultProgress> progress = read_progress(path);
    const std::vector<QueuedJob> jobs = jobs_that_write(path);
    if (progress) return result_text(*progress, jobs);
    if (jobs.empty())
        throw JobError(path + ": there is no such result, finished or not, and no job writes it");
    return job_status_text(with_progress(jobs), {});
}

}  // namespace

std::string status(const std::string& subject, const StatusStyle& style) {
    if (subject.empty()) return status_table(with_progress(read_my_queue()), style);
    if (is_job_id(subject)) return job_status_text(with_progress(read_job(subject)), style);
    return status_of_result(subject);
}

}  // namespace voltpile
