// Copies committed parts into the result while the job still computes, on a thread of its own, so that the
// result of a long job is ready soon after its last range. This is only an attempt: if anything goes wrong (a
// disk too full for parts and result, a part that cannot be read yet), all parts still exist and can be
// consolidated at the end.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "results/parts/part_folder.h"
#include "results/plan_record.h"
#include "results/result_layout.h"

namespace voltpile {

class BackgroundConsolidation {
  public:
    // Starts the thread. done: the parts that exist already.
    BackgroundConsolidation(const Life& life, const ResultLayout& layout, const std::vector<PartInfo>& done);
    ~BackgroundConsolidation();  // gives up unless published
    BackgroundConsolidation(const BackgroundConsolidation&) = delete;
    BackgroundConsolidation& operator=(const BackgroundConsolidation&) = delete;

    void committed(WorkRange range);  // any rank has committed this part

    // Waits until all parts are copied and gives the result its name. Returns false if copying failed or the
    // parts do not cover the whole sweep; then nothing has changed. Call it once, at the end.
    bool publish(const Provenance& provenance, const PlanRecord& plan);

  private:
    void copy_loop(const Life& life, const ResultLayout& layout);
    void finish_thread(bool discard);

    std::filesystem::path parts_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<PartInfo> queue_;
    bool closing_ = false;
    bool discard_ = false;
    const Provenance* provenance_ = nullptr;  // set when the result may be published
    const PlanRecord* plan_ = nullptr;        // likewise
    bool published_ = false;
    std::thread thread_;
};

}  // namespace voltpile
