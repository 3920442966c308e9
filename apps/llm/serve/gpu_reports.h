// Reads the GPUs of all ranks every two seconds, as long as somebody asks for them: on each host one rank
// reads those of its host, on a thread of its own, and reports to rank 0.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/mpi/communicator.h"
#include "llm/serve/gpu_gauges.h"

namespace voltpile::llm {

class GpuReports {
  public:
    using Read = std::function<NodeGpus()>;  // of this host; called on a thread of this object
    using Use = std::function<void(const std::vector<RankGpu>&)>;

    // gpus: the same on all ranks, see find_gpus(); without any, no thread starts. Collective over the world.
    GpuReports(const Communicator& world, std::vector<RankGpu> gpus, Read read);
    // Without finish(), ends this rank's part alone.
    ~GpuReports();
    GpuReports(const GpuReports&) = delete;
    GpuReports& operator=(const GpuReports&) = delete;

    // Calls `use` with the last readings, at once or, if nobody has asked for `interest`, after all hosts
    // have reported or `patience` is over; then on a thread of this object. Never waits itself. `use` must
    // not call this object. On rank 0, thread-safe.
    void with_latest(Use use);

    // Calls all that wait with the readings that there are. From now on nothing waits. Thread-safe.
    void end_waits();

    // Ends the reports in order. Every rank calls; others than rank 0 wait for rank 0.
    void finish();

    static constexpr std::chrono::milliseconds period{2000};
    // How long reading goes on after the last call of with_latest(); collectors of metrics ask every 15 to
    // 60 s.
    static constexpr std::chrono::seconds interest{90};
    // Collectors give up after 10 s, as a rule.
    static constexpr std::chrono::seconds patience{5};

  private:
    struct Reporter {
        int member = 0;  // its rank in link_
        std::string host;
        bool asked = false;  // and has not answered
    };

    void collect(const std::stop_token& stop);  // on rank 0
    void ask_and_read();
    void take_reports();
    bool all_reported() const;
    void answer_waiting();
    void end_reporters();
    void report(const std::stop_token& stop);  // on the other hosts' readers
    NodeGpus read_and_warn();

    Read read_;
    std::string host_;  // whose GPUs this rank reads; empty: none
    std::vector<Reporter> reporters_;
    std::optional<Communicator> link_;  // rank 0 and the readers of other hosts
    std::mutex mutex_;                  // of what follows, up to no_waits_
    std::condition_variable_any changed_;
    std::vector<RankGpu> gpus_;
    std::chrono::steady_clock::time_point asked_at_, give_up_at_;
    std::vector<Use> waiting_;
    bool old_ = true;        // the readings are from before the last pause
    bool asked_all_ = true;  // since that pause
    bool no_waits_ = false;
    std::future<NodeGpus> own_;  // of this host, while it is read
    bool warned_ = false;
    bool finished_ = false;
    std::jthread thread_;
};

}  // namespace voltpile::llm
