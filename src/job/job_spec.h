// The validated, immutable job file.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "job/key_spec.h"

namespace voltpile {

// One axis of the sweep. Points are `from + (to - from) * i / n`, n = count, or count - 1 with `endpoint`.
struct SweepAxis {
    std::string name;       // of the dimension in the result; default: of the parameter: "position_0_x"
    std::string parameter;  // element of a sweepable key, resolved: "system.position[0].x"
    std::string key;        // the row it belongs to: "system.position"
    int element = 0;        // row-major index into that key's value
    std::string unit;
    double from = 0;
    double to = 0;
    std::int64_t count = 1;
    bool endpoint = false;

    // Evaluated in exactly this order, without contraction, on every processor.
    double value(std::int64_t i) const;
};

class JobSpec {
  public:
    const std::string& app() const { return app_; }
    const std::string& path() const { return path_; }                         // as given by the user
    const std::string& text() const { return text_; }                         // the file's text, as read
    const std::vector<std::string>& overrides() const { return overrides_; }  // --set, as given

    // The file's name without folder and ending: the default name of the result.
    std::string name() const;

    // Values by path. Asking for a path that is not in the table, or by the wrong type, is a bug:
    // std::logic_error.
    double real(const std::string& path) const;
    std::int64_t integer(const std::string& path) const;
    bool boolean(const std::string& path) const;
    const std::string& text(const std::string& path) const;
    const Reals& reals(const std::string& path) const;
    const Integers& integers(const std::string& path) const;
    const Booleans& booleans(const std::string& path) const;
    const Texts& texts(const std::string& path) const;

    const std::vector<SweepAxis>& axes() const { return axes_; }  // the first axis varies fastest
    std::int64_t point_count() const;                             // product of the counts

    // 32 hexadecimal digits over everything that changes the result: app, its numerics version, the resolved
    // values of all identity keys (defaults included) and the axes. Equal for job files that differ in
    // comments, order, spelling of numbers or [run] settings.
    const std::string& fingerprint() const { return fingerprint_; }

  private:
    friend class JobBuilder;
    std::string app_, path_, text_, fingerprint_;
    std::vector<std::string> overrides_;
    std::map<std::string, Value> values_;
    std::vector<SweepAxis> axes_;
};

// Reads, overrides (`key=value`; value in TOML; a bare word is taken as text; `sweep.<axis
// name>.<key>=value`) and validates. Throws JobError with ALL problems, each as `file:line: message`
// (line:column for syntax errors, `--set key=value` in place of file:line where an override is to blame).
JobSpec load_job(const std::string& path, std::span<const std::string> overrides,
                 std::span<const AppSchema> apps);

// Returns the text of a job file, unparsed. Throws JobError if it cannot be read or is larger than 1 MiB.
std::string read_job_text(const std::string& path);

// The same on a text already in memory: `path` only names it in messages. What ranks other than 0 use.
JobSpec parse_job(const std::string& text, const std::string& path, std::span<const std::string> overrides,
                  std::span<const AppSchema> apps);

}  // namespace voltpile
