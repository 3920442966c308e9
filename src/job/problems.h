// Collects the problems of a job file, so that one error reports all of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "job/document.h"

namespace voltpile {

class Problems {
  public:
    // path: the job file, for messages. Keeps references to both arguments.
    Problems(const std::string& path, std::span<const std::string> overrides)
        : path_(path), overrides_(overrides) {}

    void add(Origin origin, const std::string& message);
    std::size_t size() const { return list_.size(); }

    // Returns where something is written, for messages: "job.toml:12", "--set key=value".
    std::string place(Origin origin) const;

    // Throws JobError with one line for each problem, if any: in the order of the file, then of the
    // overrides.
    void throw_if_any() const;

  private:
    struct Problem {
        Origin origin;
        std::string message;
    };
    const std::string& path_;
    std::span<const std::string> overrides_;
    std::vector<Problem> list_;
};

}  // namespace voltpile
