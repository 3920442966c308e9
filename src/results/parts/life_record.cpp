#include "results/parts/life_record.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/host_name.h"

namespace voltpile {
namespace {

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

// The job id of an array's task is one that Slurm may give anew; the array's own id and the task's number
// stay.
std::string slurm_job() {
    const std::string array = environment("SLURM_ARRAY_JOB_ID");
    const std::string task = environment("SLURM_ARRAY_TASK_ID");
    if (!array.empty() && !task.empty()) return array + "_" + task;
    return environment("SLURM_JOB_ID");
}

}  // namespace

bool RunIdentity::supersedes(const RunIdentity& earlier) const {
    return !batch_job.empty() && batch_job == earlier.batch_job && restart_count > earlier.restart_count;
}

std::string RunIdentity::text() const {
    std::string text = fmt::format("pid {} on {}", pid, host);
    if (!batch_job.empty()) text += ", " + job_text(batch_job);
    return text;
}

RunIdentity this_run() {
    RunIdentity run;
    run.host = host_name();
    run.pid = ::getpid();
    if (const std::string job = slurm_job(); !job.empty()) {
        run.batch_job = "slurm " + job;
        run.restart_count = std::atoi(environment("SLURM_RESTART_COUNT").c_str());
    }
    return run;
}

std::string LifeRecord::text() const {
    if (run.batch_job.empty()) return fmt::format("life {}, pid {} on {}", number, run.pid, run.host);
    return fmt::format("life {}, {} on {}", number, job_text(run.batch_job), run.host);
}

std::string LifeRecord::to_json() const {
    nlohmann::ordered_json json;
    json["life"] = number;
    json["folder"] = folder;
    json["host"] = run.host;
    json["pid"] = run.pid;
    json["batch_job"] = run.batch_job;
    json["restart_count"] = run.restart_count;
    json["points"] = points;
    json["date"] = date;
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::optional<LifeRecord> LifeRecord::from_json(const std::string& line) {
    try {
        const nlohmann::json json = nlohmann::json::parse(line);
        LifeRecord record;
        json.at("life").get_to(record.number);
        json.at("folder").get_to(record.folder);
        json.at("host").get_to(record.run.host);
        json.at("pid").get_to(record.run.pid);
        json.at("batch_job").get_to(record.run.batch_job);
        json.at("restart_count").get_to(record.run.restart_count);
        json.at("points").get_to(record.points);
        json.at("date").get_to(record.date);
        return record;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;  // half written, or not ours
    }
}

std::string job_text(const std::string& batch_job) {
    return "job " + batch_job.substr(batch_job.find(' ') + 1);
}

}  // namespace voltpile
