// The journal of an unfinished result: the folder `<result>.parts/` with one immutable file per committed
// range. A part is written under a temporary name in the folder of the run's life, closed, fsynced and
// renamed, and the part folder is fsynced: the rename is the commit and the folder's listing the journal.
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

// Where the parts of `result` live: beside the file that it leads to, if it is a symbolic link.
std::filesystem::path parts_path(const std::filesystem::path& result);

// Writes one part, durably. data: one buffer per field of the layout, in its order. Any number of ranks and
// threads may commit different ranges at once. Throws TakenOverError, or FileError with errno's text (disk
// full, ...); then no part of that name exists.
void commit_part(const Life& life, const ResultLayout& layout, WorkRange range,
                 const std::vector<FieldBuffer>& data);

struct PartInfo {
    std::filesystem::path path;
    WorkRange range;
};

// A part as it is, for sending it to another host, and putting it there. What is put is durable only after
// sync_file_system. Throws FileError.
std::vector<std::byte> read_part(const std::filesystem::path& parts, WorkRange range);
void put_part(const Life& life, WorkRange range, std::span<const std::byte> bytes);

// Which points are committed, by the names of the parts alone.
RangeSet named_parts(const std::filesystem::path& parts);

// Who a run is and what it asks for.
struct Claim {
    Shard shard;
    bool take_over = false;  // also from a run that holds the lock, perhaps alive and out of reach
    RunIdentity run = this_run();
};

// Holds `<result>.parts/` for one run: created, checked to belong to this job, locked (flock) and fenced
// (results/parts/life.h) until destruction. One rank of the job makes it.
class PartFolder {
  public:
    enum class IfOther { Refuse, Discard };  // parts of another job, or of an earlier run with --fresh

    // Throws JobError if the parts belong to another job (both fingerprints named, --fresh suggested),
    // FileError if the folder cannot be created, written or locked. Runs of different shards of one count
    // may hold it at the same time; any other two exclude each other: the second one is refused ("another
    // run is writing ...") unless it may take over, because it asks to or because the first one was an
    // earlier life of the same batch job.
    PartFolder(const std::filesystem::path& result, const ResultLayout& layout, IfOther if_other,
               const Claim& claim = {});
    ~PartFolder();
    PartFolder(const PartFolder&) = delete;
    PartFolder& operator=(const PartFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    const Life& life() const;
    const Shard& shard() const { return claim_.shard; }
    WorkRange interval() const { return interval_; }  // of this run's shard

    // A job that a batch system starts again and again must come to an end: throws Error (Failed) if the last
    // three lives have not got beyond `points` committed.
    void check_progress(std::int64_t points) const;

    // Adds this life to the journal.
    void record_life(std::int64_t points);

    // The lock to put the result together, which one of several shards gets; nothing if somebody holds it.
    std::optional<FileDescriptor> lock_result() const;

    // When the result is there: deletes what is voltpile's in the folder, and the folder if nothing else is
    // in it.
    void remove();

    // When this run's parts are safe elsewhere: as remove(), but what is of other shards stays.
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

// Says which live run holds a lock that a run with this claim needs: "another run is writing ...". Empty:
// none does, or this one may take over from it. A process that is just ending may still hold its lock for a
// few milliseconds.
std::string busy_text(const std::filesystem::path& parts, const std::filesystem::path& result,
                      const Claim& claim);

// Whether the parts there are of this job and meant to replace the finished result beside them: those of a
// run with --fresh that was stopped.
bool parts_replace_result(const std::filesystem::path& result, const std::string& fingerprint);

}  // namespace voltpile
