#include "results/parts/part_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>

#include "base/error.h"
#include "results/parts/durable_file.h"
#include "results/parts/life.h"
#include "results/parts/lock_file.h"
#include "results/parts/part_adoption.h"
#include "results/parts/part_file.h"
#include "results/parts/part_listing.h"
#include "results/parts/part_seal.h"
#include "results/telemetry.h"

namespace voltpile {
namespace {

void check_can_be_written(const std::filesystem::path& folder) {
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        throw FileError("write to the folder", folder.string(), errno, ExitCode::BadInput);
    // The result is written in this folder and then renamed, which works only within one file system.
    struct stat inside {};
    struct stat beside {};
    if (::stat(folder.c_str(), &inside) != 0 || ::stat(folder_of(folder).c_str(), &beside) != 0)
        throw FileError("open", folder.string(), errno, ExitCode::BadInput);
    if (inside.st_dev != beside.st_dev)
        throw JobError(
            fmt::format("{} is on another file system than the folder it is in; choose another --output",
                        folder.string()));
}

bool is_folder(const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::is_directory(std::filesystem::symlink_status(path, error));
}

std::string other_run_text(const std::filesystem::path& result, const Shard& shard,
                           const std::optional<LifeRecord>& holder) {
    std::string who = holder ? holder->run.text() : "not known which";
    if (!shard.is_whole()) who = shard.text() + ", " + who;
    return fmt::format("another run is writing {} ({}); if that host is out of reach, --take-over",
                       result.string(), who);
}

[[noreturn]] void refuse(const std::filesystem::path& result, const Shard& shard,
                         const std::optional<LifeRecord>& holder) {
    throw FileError(other_run_text(result, shard, holder), ExitCode::CannotRun);
}

bool may_take_over(const Claim& claim, const std::optional<LifeRecord>& holder) {
    return claim.take_over || (holder && claim.run.supersedes(holder->run));
}

}  // namespace

std::filesystem::path parts_path(const std::filesystem::path& result) {
    return follow_links(result).string() + ".parts";
}

PartFolder::PartFolder(const std::filesystem::path& result, const ResultLayout& layout, IfOther if_other,
                       const Claim& claim)
    : path_(parts_path(result)),
      result_(result),
      claim_(claim),
      interval_(claim.shard.interval(layout.point_count())),
      date_(fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))) {
    create_folders(path_);
    check_can_be_written(path_);
    // Check first without changing anything, and again under the lock.
    check_may_use(path_, result, layout, if_other);
    refuse_others();

    std::optional<FileDescriptor> lock = try_lock(own_lock());
    const std::optional<LifeRecord> holder = read_lock(own_lock());
    if (!lock && !may_take_over(claim_, holder)) refuse(result, claim_.shard, holder);
    std::int64_t known = 0;
    for (const LifeRecord& each : read_journal(path_, claim_.shard)) known = std::max(known, each.number);
    life_ = std::make_unique<ClaimedLife>(
        follow_links(result), path_, claim_.shard, known, [&](const Life& life) {
            // This process may have been suspended since it looked, and another run may have begun.
            const std::optional<LifeRecord> now = read_lock(own_lock());
            const bool same_holder =
                now.has_value() == holder.has_value() && (!now || now->folder == holder->folder);
            if (!same_holder || (lock && !is_still_there(*lock, own_lock()))) throw_taken_over(life);
            refuse_others();
        });
    // Another run that took over at the same moment may have replaced the lock before its life was ended.
    if (lock && is_still_there(*lock, own_lock()))
        write_lock(*lock, own_lock(), record());
    else
        lock = replace_lock(life(), own_lock(), record());
    lock_ = std::move(*lock);
    withdraw_other_locks();

    check_may_use(path_, result, layout, if_other);
    if (if_other == IfOther::Discard) discard_parts();
    // Of several shards that begin at once only one can write the manifest.
    if (!write_manifest(life(), layout, !claim_.shard.is_whole()))
        check_may_use(path_, result, layout, IfOther::Refuse);
    std::error_code error;
    if (if_other == IfOther::Discard && std::filesystem::exists(result, error))
        write_in(life(), path_ / replaces_name, {});
}

PartFolder::~PartFolder() = default;

const Life& PartFolder::life() const {
    return life_->life();
}

std::filesystem::path PartFolder::own_lock() const {
    return path_ / lock_name(claim_.shard);
}

LifeRecord PartFolder::record() const {
    LifeRecord record;
    record.run = claim_.run;
    record.number = life_->number();
    record.folder = life().name;
    record.date = date_;
    return record;
}

// A run of the whole sweep and a shard, or shards of different counts, would compute the same points.
void PartFolder::refuse_others() const {
    for (const std::filesystem::path& path : lock_files(path_)) {
        const Shard other = *parse_lock_name(path.filename().string());
        if (other.count == claim_.shard.count || !is_locked(path)) continue;
        const std::optional<LifeRecord> holder = read_lock(path);
        if (!may_take_over(claim_, holder)) refuse(result_, other, holder);
    }
}

// The beginning of this life has ended theirs.
void PartFolder::withdraw_other_locks() const {
    withdraw_all([&](const std::filesystem::path& entry) {
        const std::optional<Shard> shard = parse_lock_name(entry.filename().string());
        return shard && shard->count != claim_.shard.count;
    });
}

// Only the folders of lives are ours; no other folder is, whatever its name.
void PartFolder::withdraw_all(const std::function<bool(const std::filesystem::path&)>& which) const {
    for (const std::filesystem::path& entry : list_folder(path_))
        if (which(entry) && !is_folder(entry)) withdraw_in(life(), entry);
}

void PartFolder::discard_parts() const {
    withdraw_all([](const std::filesystem::path& entry) {
        return is_part(entry) || is_rejected(entry) || is_journal_name(entry.filename().string()) ||
               is_telemetry(entry) || entry.filename() == replaces_name;
    });
}

void PartFolder::check_progress(std::int64_t points) const {
    voltpile::check_progress(result_, read_journal(path_, claim_.shard), claim_.run, points);
}

void PartFolder::record_life(std::int64_t points) {
    LifeRecord now = record();
    now.points = points;
    append_life(life(), claim_.shard, now);
}

std::optional<FileDescriptor> PartFolder::lock_result() const {
    const std::filesystem::path path = path_ / result_lock_name;
    std::optional<FileDescriptor> lock = try_lock(path);
    if (lock)
        write_lock(*lock, path, record());
    else if (may_take_over(claim_, read_lock(path)))
        lock = replace_lock(life(), path, record());
    return lock;
}

void PartFolder::remove() {
    // Remove the mark first: from here on the result is the new one. Remove the manifest after the parts,
    // which would belong to no job without it, and our own lock last. Keep everything that may not be ours.
    withdraw_in(life(), path_ / replaces_name);
    life_->end_all_others();
    withdraw_all([](const auto& entry) {
        return is_part(entry) || is_rejected(entry) || is_probe(entry) || is_telemetry(entry);
    });
    withdraw_all([](const auto& entry) { return entry.filename() == manifest_name; });
    withdraw_all([&](const auto& entry) { return is_record(entry) && entry != own_lock(); });
    withdraw_in(life(), own_lock());
    life_.reset();
    if (::rmdir(path_.c_str()) == 0 || errno == ENOENT) return;
    for (const std::filesystem::path& entry : list_folder(path_)) {
        if (is_ours(entry) && (is_life(entry) || !is_folder(entry)))
            continue;  // belongs to a run that is just beginning
        spdlog::warn("{} holds files that are not voltpile's: it stays", path_.string());
        return;
    }
}

void PartFolder::remove_own() {
    bool others = false;
    withdraw_all([&](const std::filesystem::path& entry) {
        const std::string name = entry.filename();
        if (!is_part(entry) && (!parse_lock_name(name) || entry == own_lock())) return false;
        const std::optional<WorkRange> range = parse_part_name(name);
        const bool own = claim_.shard.is_whole() || (range && interval_.contains(range->begin));
        others |= !own;
        return own;
    });
    if (!others) return remove();
    withdraw_in(life(), path_ / journal_name(claim_.shard));
    withdraw_in(life(), own_lock());
}

void commit_part(const Life& life, const ResultLayout& layout, WorkRange range,
                 const std::vector<FieldBuffer>& data) {
    const std::filesystem::path path = life.parts / part_name(range);
    std::vector<std::byte> image = part_image(path, layout, range, data);
    PartSealer(layout).seal(image, range);
    try {
        write_in(life, path, image);
    } catch (const FileError&) {
        withdraw_in(life, path);  // it may have its name, but the folder is not flushed
        throw;
    }
}

std::vector<std::byte> read_part(const std::filesystem::path& parts, WorkRange range) {
    const std::filesystem::path path = parts / part_name(range);
    std::ifstream file(path, std::ios::binary);
    std::error_code error;
    std::vector<std::byte> bytes(std::filesystem::file_size(path, error));
    if (error) throw FileError("read", path.string(), error.value());
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file) throw FileError("read", path.string(), EIO);
    return bytes;
}

void put_part(const Life& life, WorkRange range, std::span<const std::byte> bytes) {
    write_in(life, life.parts / part_name(range), bytes, Flush::Later);
}

RangeSet named_parts(const std::filesystem::path& parts) {
    RangeSet named;
    for (const std::filesystem::path& path : list_folder(parts))
        if (const auto range = parse_part_name(path.filename().string())) named.insert(*range);
    return named;
}

std::string busy_text(const std::filesystem::path& parts, const std::filesystem::path& result,
                      const Claim& claim) {
    for (const std::filesystem::path& path : lock_files(parts)) {
        const Shard other = *parse_lock_name(path.filename().string());
        const bool beside = other.count == claim.shard.count && other != claim.shard;
        if (beside || !is_locked(path)) continue;
        const std::optional<LifeRecord> holder = read_lock(path);
        if (!may_take_over(claim, holder)) return other_run_text(result, other, holder);
    }
    return "";
}

bool parts_replace_result(const std::filesystem::path& result, const std::string& fingerprint) {
    const std::filesystem::path parts = parts_path(result);
    std::error_code error;
    if (!std::filesystem::is_regular_file(parts / replaces_name, error)) return false;
    const std::optional<ResultLayout> found = read_manifest(parts);
    return found && found->fingerprint == fingerprint;
}

}  // namespace voltpile
