// The telemetry of a server, which has no result: a file with the group /telemetry alone, and, while the
// server runs, a folder beside it with the samples so far. A run that is killed leaves them for the next one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "results/parts/life.h"
#include "results/telemetry.h"

namespace voltpile {

inline constexpr std::string_view kTelemetryLogEnding = ".telemetry.h5";

bool is_telemetry_log(const std::filesystem::path& file);  // by its name

// Where the samples are until the file is written: "<file>.samples".
std::filesystem::path telemetry_samples(const std::filesystem::path& file);

class TelemetryLog {
  public:
    // Begins a life in the folder, and ends that of an earlier run. If that one is alive, it keeps no more
    // telemetry. Throws FileError.
    explicit TelemetryLog(const std::filesystem::path& file);
    ~TelemetryLog();
    TelemetryLog(const TelemetryLog&) = delete;
    TelemetryLog& operator=(const TelemetryLog&) = delete;

    const Life& life() const;  // where the samples are committed

    // Writes the file from all samples of the folder, in place of an earlier file, and removes the folder.
    // The tokens, which this run generated and read in prompts, become attributes. Writes nothing if there
    // are no samples. Returns whether there is a file now. Throws FileError; the samples stay.
    bool finish(std::int64_t tokens, std::int64_t prompt_tokens);

  private:
    void remove_samples();

    std::unique_ptr<ClaimedLife> life_;
};

}  // namespace voltpile
