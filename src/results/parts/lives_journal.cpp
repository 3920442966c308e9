#include "results/parts/lives_journal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/host_name.h"
#include "results/parts/life.h"
#include "results/parts/lock_file.h"

namespace voltpile {
namespace {

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

// Slurm may change the job id of an array task; the id of the array and the number of the task stay.
std::string slurm_job() {
    const std::string array = environment("SLURM_ARRAY_JOB_ID");
    const std::string task = environment("SLURM_ARRAY_TASK_ID");
    if (!array.empty() && !task.empty()) return array + "_" + task;
    return environment("SLURM_JOB_ID");
}

constexpr std::size_t lives_without_progress = 3;

std::vector<LifeRecord> read_lines(const std::filesystem::path& path) {
    std::vector<LifeRecord> lives;
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return lives;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (auto life = LifeRecord::from_json(line)) lives.push_back(std::move(*life));
    return lives;
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
        return std::nullopt;  // half written, or not a record
    }
}

std::string job_text(const std::string& batch_job) {
    return "job " + batch_job.substr(batch_job.find(' ') + 1);
}

std::string journal_name(const Shard& shard) {
    return shard.is_whole() ? "lives.jsonl" : fmt::format("lives-{}of{}.jsonl", shard.index, shard.count);
}

bool is_journal_name(const std::string& file_name) {
    constexpr std::string_view ending = ".jsonl";
    if (!file_name.starts_with("lives") || !file_name.ends_with(ending)) return false;
    // Journals are named like the locks.
    return parse_lock_name("lock" + file_name.substr(5, file_name.size() - 5 - ending.size())).has_value();
}

std::vector<LifeRecord> read_journal(const std::filesystem::path& parts, const Shard& shard) {
    return read_lines(parts / journal_name(shard));
}

std::vector<LifeRecord> read_lives(const std::filesystem::path& parts) {
    std::vector<LifeRecord> lives;
    std::error_code error;
    std::filesystem::directory_iterator it(parts, error);
    for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
        if (!is_journal_name(it->path().filename().string())) continue;
        const std::vector<LifeRecord> more = read_lines(it->path());
        lives.insert(lives.end(), more.begin(), more.end());
    }
    std::stable_sort(lives.begin(), lives.end(),
                     [](const LifeRecord& a, const LifeRecord& b) { return a.date < b.date; });
    return lives;
}

std::vector<LifeRecord> read_holders(const std::filesystem::path& parts) {
    std::vector<LifeRecord> holders;
    for (const std::filesystem::path& lock : lock_files(parts))
        if (auto holder = read_lock(lock)) holders.push_back(std::move(*holder));
    return holders;
}

void append_life(const Life& life, const Shard& shard, const LifeRecord& record) {
    // Rewrites the file, so that the fence covers it like everything else.
    std::string text;
    for (const LifeRecord& each : read_journal(life.parts, shard)) text += each.to_json() + "\n";
    text += record.to_json() + "\n";
    write_in(life, life.parts / journal_name(shard), std::as_bytes(std::span(text)));
}

void check_progress(const std::filesystem::path& result, const std::vector<LifeRecord>& journal,
                    const RunIdentity& run, std::int64_t points) {
    if (run.batch_job.empty() || run.restart_count < static_cast<int>(lives_without_progress)) return;
    if (journal.size() < lives_without_progress) return;
    std::vector<std::string> hosts;
    for (auto life = journal.end() - lives_without_progress; life != journal.end(); ++life) {
        if (life->run.batch_job != run.batch_job || life->points != points) return;
        hosts.push_back(life->run.host);
    }
    throw Error(
        ExitCode::Failed,
        fmt::format("{} has made no progress on {} in its last {} lives (on {}): each began with {} "
                    "committed, and there are no more now. It will not be restarted: check the output of "
                    "those lives, and the memory, disks and GPUs of those hosts. A new submission of the "
                    "same job resumes where this one stopped",
                    job_text(run.batch_job), result.string(), lives_without_progress, fmt::join(hosts, ", "),
                    points_text(points)));
}

}  // namespace voltpile
