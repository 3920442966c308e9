// Telemetry of a job: samples of its nodes. While the job runs they are CSV files in the part folder, one for
// each life, node and few minutes; in the result they are the group /telemetry (docs/result_file.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/parts/life.h"

namespace voltpile {

struct TelemetryColumn {
    std::string name;            // "power_w"
    std::string unit;            // UDUNITS
    std::string device;          // bus id of a GPU; empty: the host
    std::vector<double> values;  // one for each time; NaN: unknown
};

// Samples of a node during one life of the job, or a part of it.
struct NodeTelemetry {
    std::string life;  // name of the life's folder
    std::string host;
    std::vector<double> times_s;  // since 1970-01-01 00:00 UTC, ascending
    std::vector<TelemetryColumn> columns;
};

// What the GPUs of all nodes draw.
struct GpuPower {
    int gpus = 0;         // that have readings
    double mean_w = 0;    // between the first and the last sample
    double energy_j = 0;  // between the first and the last sample of each life
};

// CSV: a line "# HOST", a line of NAME|UNIT|DEVICE, then a line for each time. `life` is in the file's name.
std::string telemetry_csv(const NodeTelemetry& node);
// Returns nothing for anything else. A last line that is cut off is left out.
std::optional<NodeTelemetry> telemetry_from_csv(const std::string& text);

// The CSV text of samples of one node that arrive piece by piece. A row is formatted once, unless a later
// piece has columns that the earlier ones do not have.
class TelemetryCsv {
  public:
    void add(const NodeTelemetry& piece);
    std::size_t rows() const { return node_.times_s.size(); }
    const std::string& text() const { return text_; }

  private:
    NodeTelemetry node_;
    std::string text_;
};

// Commits a CSV text to the part folder, in place of an earlier one with the same numbers. `rank` and
// `number` tell the files of a life apart. Throws FileError.
void write_telemetry_file(const Life& life, int rank, int number, const std::string& csv);
bool is_telemetry(const std::filesystem::path& path);  // by its name

// Joins the pieces of each life and node, in the order in which they are added.
class TelemetryPieces {
  public:
    void add(NodeTelemetry piece);
    // Ordered by host and time.
    std::vector<NodeTelemetry> joined() &&;

  private:
    std::vector<NodeTelemetry> nodes_;
};

// Reads all telemetry of a part folder: one element for each life and node. Skips what it cannot read.
std::vector<NodeTelemetry> read_telemetry(const std::filesystem::path& parts);

// From the GPUs' energy counters, or from their power where a GPU has none (before Volta), or where its
// readings do not span nearly all samples, as in short runs.
GpuPower gpu_power(const std::vector<NodeTelemetry>& nodes);
// "energy: 12.3 Wh by 4 GPUs, 400 W on average; 2.5 joules per UNIT" without the end of a line. power: of
// GPUs that there are. seconds: for which it holds. units: done in this time; 0: leaves their part out.
std::string energy_text(const GpuPower& power, double seconds, double units, const std::string& unit);

bool says_gpu_power(std::string_view column);  // whether gpu_power() uses it

}  // namespace voltpile
