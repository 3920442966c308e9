#include "cli/measure_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "base/process.h"
#include "base/seconds_since.h"
#include "plan/calibration.h"
#include "results/plan_record.h"

namespace voltpile::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kRuns = 3;
constexpr const char* kJob = R"(app = "threebody"
[system]
G = 1.0
mass = [1.0, 1.0, 1.0]
position = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
velocity = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
[[sweep]]
parameter = "position[0].x"
from = 1.0
to = 2.0
count = 1
[integrate]
method = "euler"
dt = 0.01
steps = 1
[output]
fields = ["steps_together"]
)";

// A new folder that goes with it.
class Folder {
  public:
    explicit Folder(const fs::path& place) : path(place / fmt::format("calibrate-{}", getpid())) {
        fs::create_directories(path);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const fs::path path;
};

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

}  // namespace

std::vector<MeasuredRate> measure_run(const fs::path& place, const std::string& device,
                                      const std::string& processor) {
    const Folder folder(place);
    const fs::path job = folder.path / "job.toml", result = folder.path / "result.h5";
    std::ofstream(job) << kJob;
    ProcessRequest request;
    request.command = {fs::read_symlink("/proc/self/exe"),
                       "run",
                       job,
                       "--fresh",
                       "--output",
                       result,
                       "--set",
                       "run.device=" + device};
    std::vector<double> starts, ends;
    for (int run = 0; run < kRuns; ++run) {
        const auto begin = std::chrono::steady_clock::now();
        const ProcessResult done = run_process(request);
        const double all_s = seconds_since(begin);
        if (!done.succeeded())
            throw MachineError(fmt::format("a run of a single point failed: {}", done.err));
        const std::optional<PlanRecord> record = read_plan_record(result);
        if (!record || std::isnan(record->start_seconds.measured)) return {};
        const double start_s = record->start_seconds.measured;
        starts.push_back(start_s);
        ends.push_back(std::max(all_s - start_s - record->seconds.measured, 1e-3));
    }
    return {{kRunStarts, processor, 1 / median(starts)}, {kRunEnds, processor, 1 / median(ends)}};
}

}  // namespace voltpile::cli
