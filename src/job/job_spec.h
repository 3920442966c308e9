// The validated, immutable job file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "job/frames.h"
#include "job/key_spec.h"
#include "job/refinement.h"

namespace voltpile {

// One axis of the sweep. Points are `from + (to - from) * i / n`, n = count, or count - 1 with `endpoint`.
struct SweepAxis {
    std::string name;       // dimension in the result; made from the parameter if not given: "position_0_x"
    std::string parameter;  // full path of the swept number: "system.position[0].x"
    std::string key;        // the key it belongs to: "system.position"
    int element = 0;        // row-major index into the key's value
    std::string unit;
    double from = 0;
    double to = 0;
    std::int64_t count = 1;
    bool endpoint = false;

    std::vector<FrameRange> frames = {};  // from and to in each frame; empty: the same in all

    // Returns the value at point i, of the range of frame 0. Every processor evaluates the formula in this
    // order, without FMA.
    double value(std::int64_t i) const;
    double value(std::int64_t i, std::int64_t frame) const;  // of the range of any frame

    bool is_frames() const { return key == frame_axis_key; }
    // Returns the axis as it is in one frame, without `frames`.
    SweepAxis in_frame(std::int64_t frame) const;
    // Returns where point i lies in the range of any frame, from 0 to 1.
    double part(std::int64_t i) const;

  private:
    double value_in(FrameRange range, std::int64_t i) const;
};

// Returns the axis along the frames; nullptr if there is none.
const SweepAxis* frame_axis(const std::vector<SweepAxis>& axes);

// Returns the frame of a point of the sweep over these axes; 0 if there are no frames.
std::int64_t frame_of(const std::vector<SweepAxis>& axes, std::int64_t point);

// Sets SweepAxis::frames of the axes that changes name.
void set_frames(std::vector<SweepAxis>& axes, const std::vector<FrameChange>& changes);

class JobSpec {
  public:
    const std::string& app() const { return app_; }
    const std::string& path() const { return path_; }                         // as given on the command line
    const std::string& text() const { return text_; }                         // the file's contents
    const std::vector<std::string>& overrides() const { return overrides_; }  // the arguments of --set

    // Returns the file name without folder and extension: the default name of the result.
    std::string name() const;

    // Return the value of a key ("system.mass"). An unknown key or a wrong type is a bug: std::logic_error.
    double real(const std::string& path) const;
    std::int64_t integer(const std::string& path) const;
    bool boolean(const std::string& path) const;
    const std::string& text(const std::string& path) const;
    const Reals& reals(const std::string& path) const;
    const Integers& integers(const std::string& path) const;
    const Booleans& booleans(const std::string& path) const;
    const Texts& texts(const std::string& path) const;

    // The first axis varies fastest. With [frames], the last one is that along the frames.
    const std::vector<SweepAxis>& axes() const { return axes_; }
    // What changes from frame to frame, axes and numbers that are not swept.
    const std::vector<FrameChange>& frame_changes() const { return frame_changes_; }
    // How the sweep refines its grid; nothing: it computes every point.
    const std::optional<Refinement>& refinement() const { return refinement_; }
    // Returns whether a number of a key (row-major) is swept or changes from frame to frame.
    bool varies(const std::string& key, int element) const;
    std::int64_t point_count() const;  // product of the axes' counts

    // Returns 32 hexadecimal digits that stand for everything that affects the result: the app, its numerics
    // version, the values of all identity keys (defaults included) and the axes. Comments, order, the
    // spelling of numbers and the table [run] do not matter.
    const std::string& fingerprint() const { return fingerprint_; }

  private:
    friend class JobBuilder;
    std::string app_, path_, text_, fingerprint_;
    std::vector<std::string> overrides_;
    std::map<std::string, Value> values_;
    std::vector<SweepAxis> axes_;
    std::vector<FrameChange> frame_changes_;
    std::optional<Refinement> refinement_;
};

// Reads a job file, applies overrides and validates the result. Overrides are `key=value` with a TOML value
// or a bare word, or `sweep.<axis name>.<key>=value`. Throws JobError with ALL problems, each as
// `file:line: message` (`file:line:column` for syntax errors, `--set key=value` for overrides).
JobSpec load_job(const std::string& path, std::span<const std::string> overrides,
                 std::span<const AppSchema> apps);

// Returns the text of a job file, unparsed. Throws JobError if it cannot be read or is larger than 1 MiB.
std::string read_job_text(const std::string& path);

// The same for text in memory; `path` names it in messages. Ranks other than 0 use this.
JobSpec parse_job(const std::string& text, const std::string& path, std::span<const std::string> overrides,
                  std::span<const AppSchema> apps);

}  // namespace voltpile
