// The journal of an unfinished result: the folder `<result>.parts/` with one immutable file per committed
// range. A part is written under a temporary name, closed, fsynced and renamed, and the folder is fsynced:
// the rename is the commit and the folder's listing the journal.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/field.h"
#include "results/result_layout.h"
#include "work/range_set.h"

namespace voltpile {

// Where the parts of `result` live.
std::filesystem::path parts_path(const std::filesystem::path& result);

// Writes one part, durably. data: one buffer per field of the layout, in its order. Any number of ranks and
// threads may commit different ranges at once. Throws FileError with errno's text (disk full, ...); then no
// part of that name exists.
void commit_part(const std::filesystem::path& parts, const ResultLayout& layout, WorkRange range,
                 const std::vector<FieldBuffer>& data);

struct PartInfo {
    std::filesystem::path path;
    WorkRange range;
};

// A part that cannot be used and why; it has been renamed to `<name>.rejected`.
struct RejectedPart {
    std::filesystem::path path;
    std::string reason;
};

struct PartScan {
    std::vector<PartInfo> parts;  // sorted by begin, disjoint
    RangeSet completed;
    std::vector<RejectedPart> rejected;
};

// Reads every byte of every part (checksums), so that what it returns can be trusted. Corrupt, foreign and
// overlapping parts are moved aside; left-over temporary files are removed.
PartScan scan_parts(const std::filesystem::path& parts, const ResultLayout& layout);

// Holds `<result>.parts/` for one run: created, checked to belong to this job, and locked (flock) until
// destruction. One rank of the job makes it.
class PartFolder {
  public:
    enum class IfOther { Refuse, Discard };  // parts of another job, or of an earlier run with --fresh

    // Throws JobError if the parts belong to another job (both fingerprints named, --fresh suggested),
    // FileError if the folder cannot be created, written or locked ("another run is writing ...").
    PartFolder(const std::filesystem::path& result, const ResultLayout& layout, IfOther if_other);
    ~PartFolder();
    PartFolder(const PartFolder&) = delete;
    PartFolder& operator=(const PartFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    // After consolidation: deletes what is voltpile's in the folder, and the folder if nothing else is in it.
    void remove();

  private:
    std::filesystem::path path_;
    int lock_fd_ = -1;
};

// Whether the parts there are of this job and meant to replace the finished result beside them: those of a
// run with
// --fresh that was stopped.
bool parts_replace_result(const std::filesystem::path& result, const std::string& fingerprint);

}  // namespace voltpile
