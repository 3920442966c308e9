// Consolidates while the job still runs, on a thread of its own, so that a long job's result is there as soon
// as its last range is. Only an attempt: whatever goes wrong (a disk too full for parts and result at once, a
// part that cannot be read yet), the parts are all there and can be consolidated in the end.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "results/parts/part_folder.h"
#include "results/result_layout.h"

namespace voltpile {

class BackgroundConsolidation {
  public:
    // done: the parts that there are already.
    BackgroundConsolidation(const Life& life, const ResultLayout& layout, const std::vector<PartInfo>& done);
    ~BackgroundConsolidation();  // gives up, unless published
    BackgroundConsolidation(const BackgroundConsolidation&) = delete;
    BackgroundConsolidation& operator=(const BackgroundConsolidation&) = delete;

    void committed(WorkRange range);  // a part that is now in the folder, by any rank

    // Waits for the copying to end. False if it could not be done this way or does not cover the whole sweep;
    // then nothing has changed. Called once, at the end.
    bool publish(const Provenance& provenance);

  private:
    void copy_loop(const Life& life, const ResultLayout& layout);
    void finish_thread(bool discard);

    std::filesystem::path parts_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<PartInfo> queue_;
    bool closing_ = false;
    bool discard_ = false;
    const Provenance* provenance_ = nullptr;  // set when the result shall be published
    bool published_ = false;
    std::thread thread_;
};

}  // namespace voltpile
