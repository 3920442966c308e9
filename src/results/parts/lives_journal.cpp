#include "results/parts/lives_journal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "results/parts/lock_file.h"

namespace voltpile {
namespace {

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

std::string journal_name(const Shard& shard) {
    return shard.is_whole() ? "lives.jsonl" : fmt::format("lives-{}of{}.jsonl", shard.index, shard.count);
}

bool is_journal_name(const std::string& file_name) {
    constexpr std::string_view ending = ".jsonl";
    if (!file_name.starts_with("lives") || !file_name.ends_with(ending)) return false;
    // Named like the locks.
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
    // Written anew each time, so that it is behind the fence as everything else.
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
                    "committed, and there are no more now. It is not tried again: look at what those "
                    "lives printed, and at those hosts' memory, disks and GPUs. A new submission of the "
                    "same job goes on where this one stopped",
                    job_text(run.batch_job), result.string(), lives_without_progress, fmt::join(hosts, ", "),
                    points_text(points)));
}

}  // namespace voltpile
