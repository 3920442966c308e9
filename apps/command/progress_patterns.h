// What a running program prints about its progress, as gauges of the progress line.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "command/output_pattern.h"
#include "job/job_spec.h"
#include "work/gauge.h"

namespace voltpile::command {

class ProgressPatterns {
  public:
    explicit ProgressPatterns(const JobSpec& job);  // a job that check_progress_patterns() accepts

    bool empty() const { return patterns_.empty(); }

    // Reads the numbers from the last match of each pattern in `text`, what the program has printed last. A
    // gauge keeps its value while its pattern matches nothing.
    void read(const std::string& text);

    // Returns the gauges that have a value. The unit of a pattern with two groups is "of TOTAL".
    std::vector<Gauge> gauges() const;

    // Returns the names of the patterns that have never matched.
    std::vector<std::string> unmatched() const;

  private:
    std::vector<std::pair<std::string, OutputPattern>> patterns_;
    std::map<std::string, Gauge> gauges_;
};

// Reports what is wrong with the table progress.
void check_progress_patterns(const JobSpec& job, const ReportProblem& report);

// Returns the end of a file, at most 64 KiB, from `begin` on.
std::string recent_text(const std::filesystem::path& path, std::uintmax_t begin);

}  // namespace voltpile::command
