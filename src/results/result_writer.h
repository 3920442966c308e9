// Commits finished ranges on a thread of its own, so that computing waits for the disk only if the disk falls
// behind.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "results/field.h"
#include "results/parts/life.h"
#include "results/result_layout.h"
#include "work/refined_level.h"
#include "work/work_range.h"

namespace voltpile {

class ResultWriter {
  public:
    // Starts the thread. It calls on_commit after each range has become durable. level: of a refined sweep;
    // the writer adds the field "level" then, the last of the layout. It must outlive the writer.
    ResultWriter(Life life, ResultLayout layout, std::function<void(WorkRange)> on_commit,
                 const RefinedLevel* level = nullptr);
    ~ResultWriter();  // drops ranges that are not committed yet
    ResultWriter(const ResultWriter&) = delete;
    ResultWriter& operator=(const ResultWriter&) = delete;

    const ResultLayout& layout() const { return layout_; }

    // Queues a range. data: one buffer for each field of the app, in the layout's order. Blocks while two
    // ranges are waiting, which bounds memory. Rethrows the FileError of an earlier commit.
    void submit(WorkRange range, std::vector<FieldBuffer> data);

    // Waits until all submitted ranges are durable. Rethrows the FileError of a commit.
    void drain();

  private:
    struct Item {
        WorkRange range;
        std::vector<FieldBuffer> data;
    };
    void write_loop();

    Life life_;
    ResultLayout layout_;
    std::function<void(WorkRange)> on_commit_;
    const RefinedLevel* level_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Item> queue_;
    bool writing_ = false;
    bool closing_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace voltpile
