// Records what the nodes of a job do while it runs, for /telemetry in its result.
#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/job_spec.h"
#include "plan/plan.h"
#include "results/telemetry.h"
#include "run/node_monitor.h"
#include "run/power_guard.h"
#include "run/telemetry_link.h"

namespace voltpile {

// What [telemetry] asks for.
struct TelemetryRequest {
    std::string record =
        "auto";  // "yes", "no"; "auto": without a rank on a GPU only runs of a minute or more
    double every_s = 1;
    int port = 0;  // of each node, where it answers GET /metrics; 0: none
    std::string host = "127.0.0.1";
    bool outlives_fence = false;  // a run that takes over ends the telemetry, but not this run
    std::filesystem::path file;   // where a service keeps it; empty: beside its address file
};
TelemetryRequest telemetry_request(const JobSpec& job);

// Collective: every rank calls. Starts sampling the job's nodes, if its [telemetry] asks for it, or, ten
// times a second, if its [power] limits the supply; nullptr: neither does.
std::unique_ptr<NodeMonitor> start_monitor(const Communicator& world, const JobSpec& job);

class TelemetryRecorder {
  public:
    // Collective: every rank calls. life: where this rank commits. The samples of all hosts are committed to
    // rank 0's part folder every ten seconds; hosts that do not see it send theirs to rank 0. nullptr, the
    // same on all ranks: keeps what the GPUs draw, in memory, and nothing else. monitor: outlives this;
    // nullptr: records nothing. guard: outlives this; its interventions are recorded too; nullptr: there is
    // none.
    TelemetryRecorder(const Communicator& world, const Plan& plan, const TelemetryRequest& request,
                      const Life* life, NodeMonitor* monitor, PowerGuard* guard);
    TelemetryRecorder(const TelemetryRecorder&) = delete;
    TelemetryRecorder& operator=(const TelemetryRecorder&) = delete;

    // On each rank, often, from one thread at a time. A full disk or a rank that is lost costs telemetry but
    // does not fail the job. Throws TakenOverError, unless the request says that the run outlives its fence.
    void tick();

    // Collective: every rank calls, once. Waits for all and commits the rest. Returns, on rank 0, what the
    // GPUs drew in this life.
    GpuPower finish();

  private:
    // A file of samples that still grows.
    struct OpenFile {
        TelemetryCsv csv;
        int number = 0;
        std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
        bool said_failure = false;
    };
    void store();
    void use_link(const std::function<void(TelemetryLink&)>& use);
    void add(int rank, const NodeTelemetry& piece);
    void close(OpenFile& file);
    void commit(int rank, OpenFile& file);
    std::vector<NodeTelemetry> gather();
    std::optional<NodeTelemetry> take_samples();
    void keep_ascending(std::vector<NodeSample>& samples);
    void note_interventions(std::vector<NodeSample>& samples, std::vector<double>& rests,
                            std::vector<double>& clocks);
    bool too_short() const;

    const Communicator& world_;
    std::optional<Life> life_;
    NodeMonitor* monitor_ = nullptr;
    PowerGuard* guard_ = nullptr;
    double every_s_ = 0;
    bool outlives_fence_ = false;
    double kept_s_ = 0;                   // time of the last sample that was due, with a guard
    double last_s_ = 0, set_back_s_ = 0;  // time of the last sample that was stored; see keep_ascending()
    double rest_ = 0, clock_mhz_ = 0;     // of the GPUs then; 0: not limited
    std::deque<PowerIntervention> interventions_;  // later than that
    NodeWatch* watch_ = nullptr;                   // on the first rank of each host
    bool said_hung_ = false;                       // that the driver hangs
    bool had_gpus_ = false;                        // in a sample so far, or one before
    bool only_long_ = false;                       // records nothing of a run that is shorter than a minute
    bool shares_folder_ = false;                   // with rank 0
    std::optional<TelemetryLink> link_;            // if a host does not
    bool link_failed_ = false;
    std::chrono::steady_clock::time_point begin_, next_write_, next_look_;
    std::map<int, OpenFile> files_;  // by rank; of others on rank 0 only
    std::string kept_;               // without a life: CSV texts, each with a NUL at its end
};

}  // namespace voltpile
