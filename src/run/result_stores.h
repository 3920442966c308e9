// Where the parts of a running job are. On a shared file system that is one folder, rank 0's, which all ranks
// see. Hosts that do not see it keep a part folder at the same path on their own disk, and rank 0 gathers
// those parts at the end.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/mpi/communicator.h"
#include "results/admission.h"
#include "results/parts/part_folder.h"
#include "results/parts/part_scan.h"
#include "run/find_stores.h"

namespace voltpile {

// Collective: every rank calls. Returns what `result` admits, as rank 0 sees it. If the result is complete,
// removes parts that were left beside it or on other hosts' disks. Throws AgreedError if this run must not
// touch it.
Admission::Verdict admit_run(const Communicator& world, const std::filesystem::path& result,
                             const ResultLayout& layout, const AdmissionRequest& request);

class ResultStores {
  public:
    // Collective: every rank calls. Opens the folders and reads what is in them. Throws AgreedError, with
    // CannotRun if a host neither sees rank 0's folder nor can write one itself.
    ResultStores(const Communicator& world, const std::filesystem::path& result, const ResultLayout& layout,
                 bool fresh, const Claim& claim);
    ~ResultStores();
    ResultStores(const ResultStores&) = delete;
    ResultStores& operator=(const ResultStores&) = delete;

    bool complete() const { return complete_; }  // the result is complete by now; then do not use the rest
    const Life& life() const { return life_; }   // where this rank commits

    // Ranks other than 0: hands out parts and waits asleep until rank 0 sends how the job has ended. After
    // Done, removes the parts gathered from here.
    ExitCode await_outcome();

    // Ranks other than 0: the same, but returns what tell_next() sends, too. Throws AgreedError if the job
    // has ended instead.
    std::string await_next();

    // --- rank 0 only ---

    PartFolder& folder() { return *folder_; }
    const std::vector<PartInfo>& parts_here() const { return scan_.parts; }
    const RangeSet& completed() const { return completed_; }  // of the run's interval, in any of the folders
    const std::vector<std::string>& hosts_apart() const { return map_.hosts_apart; }

    std::vector<WorkRange> ranges_elsewhere() const;  // those whose parts are on other hosts' disks

    // Records a committed range. Returns true if its part is in rank 0's own folder.
    bool committed(int rank, WorkRange range);

    // Copies all parts here, one at a time, and flushes them to the disk; calls `on_part` after each. Throws
    // FileError; all parts are then still where they were. May be called again for parts committed since.
    void gather(const std::function<void(WorkRange)>& on_part);

    void tell_outcome(ExitCode code);            // sends it to all other ranks
    void tell_next(const std::string& message);  // sends it to all other ranks, for await_next()

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
    std::string await_message();
    void hand_out(const std::string& request) const;

    const Communicator& world_;
    const ResultLayout& layout_;
    std::vector<std::string> hosts_;  // by rank
    Life life_;
    bool complete_ = false;
    StoreMap map_;
    std::unique_ptr<PartFolder> folder_;  // on leaders
    PartScan scan_;                       // on leaders
    RangeSet completed_;
    std::vector<Elsewhere> elsewhere_;
};

}  // namespace voltpile
