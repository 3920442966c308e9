// The part folder of an unfinished result: `<result>.parts/` with one immutable file for each committed
// range. A run writes a part under a temporary name in its life's folder, closes, flushes and renames it, and
// flushes the part folder. The rename is the commit, and the folder's listing is the journal.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/field.h"
#include "results/parts/durable_file.h"
#include "results/parts/life.h"
#include "results/parts/lives_journal.h"
#include "results/result_layout.h"
#include "work/range_set.h"

namespace voltpile {

class ClaimedLife;

// Returns the part folder of `result`: beside the file that it leads to, if it is a symbolic link.
std::filesystem::path parts_path(const std::filesystem::path& result);

// Writes one part, durably. data: one buffer for each field of the layout, in its order. Any number of ranks
// and threads may commit different ranges at once. Throws TakenOverError, or FileError with errno's text
// (disk full, ...); then no part of that name exists.
void commit_part(const Life& life, const ResultLayout& layout, WorkRange range,
                 const std::vector<FieldBuffer>& data);

struct PartInfo {
    std::filesystem::path path;
    WorkRange range;
};

// Reads a part as bytes, to send it to another host, and writes it there. The written part is durable only
// after sync_file_system. Throws FileError.
std::vector<std::byte> read_part(const std::filesystem::path& parts, WorkRange range);
void put_part(const Life& life, WorkRange range, std::span<const std::byte> bytes);

// Returns the committed points, by the names of the parts alone. Throws FileError.
RangeSet named_parts(const std::filesystem::path& parts);

// A run's identity and what it claims.
struct Claim {
    Shard shard;
    bool take_over =
        false;  // --take-over: even if another run holds the lock, perhaps alive and out of reach
    RunIdentity run = this_run();
};

// Holds `<result>.parts/` for one run: creates it, checks that it belongs to this job, locks it (flock) and
// fences it (results/parts/life.h) until destruction. One rank of a job creates this object.
class PartFolder {
  public:
    enum class IfOther { Refuse, Discard };  // Discard: --fresh

    // Throws JobError if the parts belong to another job, FileError if the folder cannot be created, written
    // or locked. Runs of different shards of one count may hold the folder at the same time. Any other two
    // exclude each other: the second one fails with "another run is writing ..." unless it may take over,
    // because it asks to or because the first one was an earlier life of the same batch job.
    PartFolder(const std::filesystem::path& result, const ResultLayout& layout, IfOther if_other,
               const Claim& claim = {});
    ~PartFolder();
    PartFolder(const PartFolder&) = delete;
    PartFolder& operator=(const PartFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    const Life& life() const;
    const Shard& shard() const { return claim_.shard; }
    WorkRange interval() const { return interval_; }  // of this run's shard

    // Throws Error (Failed) if the last three lives have not got beyond `points` committed, so that a job
    // that a batch system restarts again and again comes to an end.
    void check_progress(std::int64_t points) const;

    // Adds this life to the journal.
    void record_life(std::int64_t points);

    // Returns the lock for writing the result, which one of several shards gets; nothing if another one holds
    // it.
    std::optional<FileDescriptor> lock_result() const;

    // Deletes voltpile's files in the folder, and the folder if nothing else is in it. Call it when the
    // result is complete.
    void remove();

    // Does what remove() does, but keeps what belongs to other shards. Call it when this run's parts are safe
    // elsewhere.
    void remove_own();

  private:
    std::filesystem::path own_lock() const;
    LifeRecord record() const;
    void refuse_others() const;
    void withdraw_other_locks() const;
    void discard_parts() const;
    void withdraw_all(const std::function<bool(const std::filesystem::path&)>& which) const;

    std::filesystem::path path_;
    std::filesystem::path result_;
    Claim claim_;
    WorkRange interval_;
    FileDescriptor lock_;
    std::unique_ptr<ClaimedLife> life_;
    std::string date_;
};

// Returns which live run holds a lock that a run with this claim needs: "another run is writing ...". Empty
// if none does or this one may take over. A process that is just ending may still hold its lock for a few
// milliseconds.
std::string busy_text(const std::filesystem::path& parts, const std::filesystem::path& result,
                      const Claim& claim);

// Whether the parts belong to this job and are to replace the finished result beside them: a run with --fresh
// was stopped.
bool parts_replace_result(const std::filesystem::path& result, const std::string& fingerprint);

}  // namespace voltpile
