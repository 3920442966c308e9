#include "results/parts/life.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <random>

#include "results/parts/durable_file.h"
#include "results/parts/file_calls.h"
#include "results/parts/lock_file.h"
#include "results/parts/part_listing.h"

namespace voltpile {
namespace {

constexpr std::string_view prefix = "life-";

// Asks the server and not the cache of a network file system's client: only creating a file does that.
bool is_gone(const Life& life) {
    const std::filesystem::path probe = temporary_in(life, "alive");
    const FileDescriptor fd(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (fd.get() >= 0) {
        ::unlink(probe.c_str());
        return false;
    }
    return errno == ENOENT || errno == ENOTDIR || errno == ESTALE;
}

void rename_or_throw(const Life& life, const std::filesystem::path& from, const std::filesystem::path& to) {
    if (rename_file(from, to) == 0) return;
    const int why = errno;
    check_not_taken_over(life);
    throw FileError("rename", from.string(), why);
}

void write_temporary_in(const Life& life, const std::filesystem::path& temporary,
                        std::span<const std::byte> bytes, const std::filesystem::path& target) {
    try {
        write_temporary(temporary, bytes, target);
    } catch (const FileError&) {
        check_not_taken_over(life);
        throw;
    }
}

LifeName next_name(const std::filesystem::path& parts, const Shard& shard, std::int64_t after) {
    for (const LifeName& each : list_lives(parts))
        if (each.shard == shard) after = std::max(after, each.number);
    return {shard, after + 1, random_nonce()};
}

// On a network file system, a file that a process of this host has open cannot be removed (it becomes
// .nfs...), but that process cannot reach anything by the old path any more.
void remove_ended(const std::filesystem::path& folder) {
    try {
        remove_entry(folder);
    } catch (const FileError& error) {
        spdlog::debug("{}", error.what());
        for (const std::filesystem::path& entry : list_folder(folder))
            if (!entry.filename().string().starts_with(".nfs")) remove_entry(entry);
    }
}

}  // namespace

std::string LifeName::text() const {
    return shard.is_whole() ? fmt::format("{}{}-{}", prefix, number, nonce)
                            : fmt::format("{}{}of{}-{}-{}", prefix, shard.index, shard.count, number, nonce);
}

std::optional<LifeName> LifeName::parse(const std::string& text) {
    if (!text.starts_with(prefix)) return std::nullopt;
    const auto nonce = text.rfind('-');
    const char* at = text.data() + prefix.size();
    const char* const end = text.data() + nonce;
    if (at >= end) return std::nullopt;
    LifeName life;
    life.nonce = text.substr(nonce + 1);
    if (const auto of = text.find("of"); of < nonce) {
        at = std::from_chars(at, end, life.shard.index).ptr;
        at = std::from_chars(std::min(at + 2, end), end, life.shard.count).ptr;
        at = std::min(at + 1, end);
    }
    std::from_chars(at, end, life.number);
    // A name is ours only if it is exactly what we write.
    if (life.text() != text || life.nonce.empty() || life.number < 1) return std::nullopt;
    return life;
}

std::string random_nonce() {
    std::random_device device;
    return fmt::format("{:08x}{:08x}", device(), device());
}

std::filesystem::path temporary_in(const Life& life, const std::string& file_name) {
    return temporary_name(life.folder() / file_name);
}

void publish_in(const Life& life, const std::filesystem::path& temporary,
                const std::filesystem::path& target) {
    try {
        publish_file(temporary, target);
    } catch (const FileError&) {
        check_not_taken_over(life);
        throw;
    }
}

void write_in(const Life& life, const std::filesystem::path& target, std::span<const std::byte> bytes,
              Flush flush) {
    const std::filesystem::path temporary = temporary_in(life, target.filename());
    write_temporary_in(life, temporary, bytes, target);
    if (flush == Flush::Now)
        publish_in(life, temporary, target);
    else
        rename_or_throw(life, temporary, target);
}

bool create_in(const Life& life, const std::filesystem::path& target, std::span<const std::byte> bytes) {
    const std::filesystem::path temporary = temporary_in(life, target.filename());
    write_temporary_in(life, temporary, bytes, target);
    const int why = link_file(temporary, target) == 0 ? 0 : errno;
    if (why == EEXIST) {
        discard_file(temporary);
        return false;
    }
    // After link(), renaming the file over itself only flushes. Where there are no links (EPERM), the rename
    // is the next best.
    if (why != 0) check_not_taken_over(life);
    publish_in(life, temporary, target);
    unlink_file(temporary);
    return true;
}

void withdraw_in(const Life& life, const std::filesystem::path& path) {
    const std::filesystem::path away = temporary_in(life, path.filename());
    if (rename_file(path, away) != 0) {
        const int why = errno;
        check_not_taken_over(life);
        if (why == ENOENT) return;
        throw FileError("remove", path.string(), why);
    }
    unlink_file(away);  // if that fails, it is removed with the life's folder
}

void rename_in(const Life& life, const std::filesystem::path& from, const std::filesystem::path& to) {
    const std::filesystem::path between = temporary_in(life, from.filename());
    rename_or_throw(life, from, between);
    rename_or_throw(life, between, to);
}

void throw_taken_over(const Life& life) {
    const std::string what = "this one ends; what it had committed is kept";
    for (const std::filesystem::path& lock : lock_files(life.parts)) {
        const std::optional<LifeRecord> record = read_lock(lock);
        std::error_code error;
        if (record && record->folder != life.name &&
            std::filesystem::exists(life.parts / record->folder, error))
            throw TakenOverError(fmt::format("another run has taken over {} ({}): {}", life.result.string(),
                                             record->text(), what));
    }
    throw TakenOverError(fmt::format("another run has taken over {}, or {} has been removed: {}",
                                     life.result.string(), life.folder().string(), what));
}

void check_not_taken_over(const Life& life) {
    if (is_gone(life)) throw_taken_over(life);
}

std::vector<LifeName> list_lives(const std::filesystem::path& parts) {
    std::vector<LifeName> lives;
    for (const std::filesystem::path& entry : list_folder(parts))
        if (auto life = LifeName::parse(entry.filename().string())) lives.push_back(std::move(*life));
    return lives;
}

ClaimedLife::ClaimedLife(const std::filesystem::path& result, const std::filesystem::path& parts,
                         const Shard& shard, std::int64_t after,
                         const std::function<void(const Life&)>& check)
    : name_(next_name(parts, shard, after)), life_{result, parts, name_.text()} {
    if (make_folder(life_.folder()) != 0)
        throw FileError("create the folder", life_.folder().string(), errno);
    try {
        check(life_);
        end_predecessors();
    } catch (...) {
        remove_tree(life_.folder());
        throw;
    }
}

ClaimedLife::~ClaimedLife() {
    // Threads of this run, such as the one that shows its status, may still be adding files.
    try {
        remove_ended(life_.folder());
    } catch (const std::exception& error) {
        spdlog::warn("{}; the next run removes it", error.what());
    }
}

// Lists after creating its own folder: of two runs that claim at once, at least one sees the other, and both
// agree on who prevails.
void ClaimedLife::end_predecessors() const {
    for (const LifeName& other : list_lives(life_.parts)) {
        if (other == name_) continue;
        if (other.shard == name_.shard && other > name_)
            throw TakenOverError("another run has taken over " + life_.result.string() + " at this moment (" +
                                 other.text() + "): this one ends");
        const bool beside = other.shard.count == name_.shard.count && other.shard != name_.shard;
        if (!beside) end_other(other);
    }
}

void ClaimedLife::end_all_others() const {
    for (const LifeName& other : list_lives(life_.parts))
        if (other != name_) end_other(other);
}

// Moves the folder away in one step, so that no path leads there any more. Then empties and removes it until
// that succeeds, because another host may still hold a handle and create files in it.
void ClaimedLife::end_other(const LifeName& other) const {
    const std::filesystem::path from = life_.parts / other.text();
    const std::filesystem::path away = life_.folder() / other.text();
    if (rename_file(from, away) != 0) {
        const int why = errno;
        check_not_taken_over(life_);
        if (why == ENOENT) return;  // it has just ended
        throw FileError("remove", from.string(), why);
    }
    remove_ended(away);
}

}  // namespace voltpile
