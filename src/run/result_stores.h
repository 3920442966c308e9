// Where the parts of a running job are. On a shared file system that is one folder, rank 0's, which all ranks
// see. Hosts that do not see it keep a part folder at the same path on a disk of their own, and at the end
// rank 0 gathers the parts from there.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/mpi/communicator.h"
#include "results/parts/part_folder.h"
#include "run/find_stores.h"

namespace voltpile {

// Collective: every rank calls. Whether the result is there already; parts that were left beside it, or on
// other hosts' disks, are then removed. Throws AgreedError.
bool find_complete(const Communicator& world, const std::filesystem::path& result,
                   const ResultLayout& layout);

class ResultStores {
  public:
    // Collective: every rank calls. Opens the folders and reads what is in them. Throws AgreedError: also if
    // a host neither sees rank 0's folder nor can write one itself (CannotRun).
    ResultStores(const Communicator& world, const std::filesystem::path& result, const ResultLayout& layout,
                 bool fresh, const Claim& claim);
    ~ResultStores();
    ResultStores(const ResultStores&) = delete;
    ResultStores& operator=(const ResultStores&) = delete;

    bool complete() const { return complete_; }  // the result is there by now; then nothing below is
    const Life& life() const { return life_; }   // where this rank commits

    // Rank 0, after the others have been told: hands out parts and waits without burning a core, until rank 0
    // tells how the job has ended; what it has gathered is then removed here.
    ExitCode await_outcome();

    // --- rank 0 only ---

    PartFolder& folder() { return *folder_; }
    const std::vector<PartInfo>& parts_here() const { return scan_.parts; }
    const RangeSet& completed() const { return completed_; }  // of the run's interval, in any of the folders
    const std::vector<std::string>& hosts_apart() const { return map_.hosts_apart; }

    std::vector<WorkRange> ranges_elsewhere() const;  // whose parts are on other hosts' disks

    // A rank has committed a range. True if its part is in rank 0's own folder.
    bool committed(int rank, WorkRange range);

    // Brings all parts here, one at a time, and flushes them to the disk; on_part after each. Throws
    // FileError; then all are still where they were.
    void gather(const std::function<void(WorkRange)>& on_part);

    void tell_outcome(ExitCode code);  // to all others

  private:
    struct Elsewhere {
        int leader = 0;
        WorkRange range;
    };

    void open_first(const std::filesystem::path& result, bool fresh, const Claim& claim);
    void open_own(bool fresh, const Claim& claim);
    void scan_all();
    std::string unless_complete(const std::function<std::string()>& body) const;
    void add_completed(const std::vector<std::string>& scans);
    void remove_own();
    std::vector<std::byte> fetch(const Elsewhere& part) const;
    void hand_out(const std::string& request) const;

    const Communicator& world_;
    const ResultLayout& layout_;
    std::vector<std::string> hosts_;  // by rank
    Life life_;
    bool complete_ = false;
    StoreMap map_;
    std::unique_ptr<PartFolder> folder_;  // of leaders
    PartScan scan_;                       // of leaders
    RangeSet completed_;
    std::vector<Elsewhere> elsewhere_;
};

}  // namespace voltpile
