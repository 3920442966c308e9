// A movie: numbers of a job that change from frame to frame. Frame 0 is the job without [frames].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace voltpile {

// The name of the axis along the frames, the slowest of the sweep, and what its SweepAxis::key says.
inline constexpr const char* frame_axis_name = "frame";
inline constexpr const char* frame_axis_key = "frames.count";

// How the way from the beginning to the end is shared out among the frames, at t from 0 to 1.
enum class Easing {
    Linear,  // t
    In,      // t^2: slow at first
    Out,     // 1 - (1 - t)^2: slow at last
    InOut,   // t^2 (3 - 2 t)
};

// What an axis has in one frame: SweepAxis::from and to. Both are the same for a number that is not swept.
struct FrameRange {
    double from = 0, to = 0;
    bool operator==(const FrameRange&) const = default;
};

// The course of one number over the frames; of a swept number, that of its range.
struct FrameChange {
    std::string name;       // of the swept number's axis; else made from the parameter: "twin_shift_x"
    std::string parameter;  // full path: "system.twin_shift[0].x"
    std::string key;        // the key it belongs to: "system.twin_shift"
    int element = 0;        // row-major index into the key's value
    std::string unit;
    bool swept = false;
    bool whole = false;           // values are rounded to whole numbers
    FrameRange first;             // in frame 0
    std::optional<double> to;     // the value at the end; of a range, its middle
    std::optional<double> width;  // of the range at the end
    double halve_every = 0;       // frames after which the value, or the width, has halved; 0: never
    bool logarithmic = false;     // by equal factors, not by equal differences; widths always are
    Easing easing = Easing::Linear;

    std::int64_t frames = 1;
    bool endpoint = false;  // the end is the last frame, not the one that would follow it

    // Returns what frame k has. Every x86 processor computes the same bits: powers are computed in 80 bits
    // and rounded. A middle that moves while the width shrinks moves in proportion to the width, so that its
    // place in the picture does not jump.
    FrameRange at(std::int64_t frame) const;

    bool operator==(const FrameChange&) const = default;
};

// Writes a change as one line, which parse_change reads: for fingerprints and result files.
std::string change_text(const FrameChange& change);
// Returns nothing if the text is not one of change_text().
std::optional<FrameChange> parse_change(const std::string& text);

}  // namespace voltpile
