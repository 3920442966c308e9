#include "cluster/cancel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/format.h"
#include "base/host_name.h"
#include "base/shell_quote.h"
#include "cluster/slurm/machine.h"
#include "cluster/slurm/queue.h"
#include "cluster/status_progress.h"
#include "results/parts/part_folder.h"
#include "results/parts/unused_parts.h"
#include "run/server_status.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto patience = 30s;  // a run that is stopped still finishes the ranges at hand

std::string cancel_jobs(std::vector<QueuedJob> jobs) {
    std::vector<std::string> command{"scancel"};
    std::string text;
    for (const QueuedJob& job : jobs) {
        command.push_back(job.id);
        text += fmt::format("canceled job {} {}\n", job.id, job.name);
    }
    ask_slurm(command);
    return text;
}

std::string cancel_job(const std::string& id) {
    std::vector<QueuedJob> jobs = read_job(id);
    for (const QueuedJob& job : jobs)
        if (job.result.empty())
            throw JobError(
                fmt::format("job {} was not submitted by voltpile: scancel {} ends it", job.id, id));
    const QueuedJob first = jobs.front();
    std::erase_if(jobs, [](const QueuedJob& job) { return job.ended(); });
    if (jobs.empty()) throw JobError(fmt::format("job {} has ended already ({})", first.id, first.state));
    return cancel_jobs(jobs);
}

// A number may belong to another process by now, or to one of another container.
bool has_open(pid_t process, const fs::path& file) {
    struct stat wanted {};
    if (::stat(file.c_str(), &wanted) != 0) return false;
    std::error_code error;
    for (fs::directory_iterator it(fmt::format("/proc/{}/fd", process), error), end; !error && it != end;
         it.increment(error)) {
        struct stat open {};
        if (::stat(it->path().c_str(), &open) == 0 && open.st_dev == wanted.st_dev &&
            open.st_ino == wanted.st_ino)
            return true;
    }
    return false;
}

void stop_run(const PartsWriter& writer, const fs::path& result) {
    if (!writer.run)
        throw MachineError(fmt::format("{} is being written, but its lock {} does not say by which process",
                                       result.string(), writer.lock.string()));
    const RunIdentity& run = *writer.run;
    if (run.host != host_name())
        throw MachineError(fmt::format(
            "{} is being written by {}: run `voltpile cancel` on that host, or: ssh {} kill -USR1 {}",
            result.string(), run.text(), shell_quote(run.host), run.pid));
    if (!has_open(run.pid, writer.lock))
        throw MachineError(fmt::format(
            "{} is being written by {}, which cannot be seen from here (another container or user?)",
            result.string(), run.text()));
    if (::kill(run.pid, SIGUSR1) != 0)
        throw MachineError(fmt::format("cannot stop {}: {}", run.text(), std::strerror(errno)));
}

std::string progress_of(const fs::path& result) {
    const auto progress = read_progress(result);
    if (!progress) return "";
    if (progress->complete) return "; the result is complete";
    return fmt::format("; {} of {} are committed, and the same command goes on with the rest",
                       count_text(progress->points_done), points_text(progress->points));
}

std::string cancel_runs(const fs::path& result, const std::vector<PartsWriter>& writers) {
    std::string who;
    for (const PartsWriter& writer : writers) {
        stop_run(writer, result);
        who += (who.empty() ? "" : ", ") + writer.run->text();
    }
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!writers_of(parts_path(result)).empty()) {
        if (std::chrono::steady_clock::now() > until)
            return fmt::format("asked {} to stop; it is still finishing what it computes\n", who);
        std::this_thread::sleep_for(50ms);
    }
    return fmt::format("stopped {}{}\n", who, progress_of(result));
}

// A server finishes its requests first, so this does not wait for its end.
std::string cancel_server(const fs::path& address_file, const ServerStatus& server) {
    const std::string who = fmt::format("process {} on {}", server.process, server.host);
    if (server.host != host_name())
        throw MachineError(
            fmt::format("{} is served by {}: run `voltpile cancel` on that host, or: ssh {} kill -USR1 {}",
                        server.address, who, shell_quote(server.host), server.process));
    if (!has_open(server.process, address_file))
        throw JobError(
            fmt::format("{}: no server of this address runs here any more ({})", address_file.string(), who));
    if (::kill(server.process, SIGUSR1) != 0)
        throw MachineError(fmt::format("cannot stop {}: {}", who, std::strerror(errno)));
    return fmt::format("asked {} to stop; it finishes the requests that it has\n", who);
}

}  // namespace

std::string cancel(const std::string& subject) {
    if (is_job_id(subject)) return cancel_job(subject);
    const fs::path result(subject);
    std::vector<QueuedJob> jobs = jobs_that_write(result);
    std::erase_if(jobs, [](const QueuedJob& job) { return job.ended(); });
    if (!jobs.empty()) return cancel_jobs(jobs);
    if (const auto server = read_server_status(server_status_path(result)))
        return cancel_server(result, *server);
    const std::vector<PartsWriter> writers = writers_of(parts_path(result));
    if (!writers.empty()) return cancel_runs(result, writers);
    if (!read_progress(result))
        throw JobError(subject + ": there is no such job, and no such result, finished or not");
    throw JobError(subject + ": no run is writing this result");
}

}  // namespace voltpile
