#include "sweep/job_sources.h"

#include <fmt/format.h>

#include <algorithm>

namespace voltpile {

void set_axes(const JobSpec& job, const SourceOf& source_of) {
    std::int64_t stride = 1;
    for (const SweepAxis& axis : job.axes()) {
        if (axis.is_frames()) continue;
        ParameterSource& source = source_of(axis.key, axis.element);
        source.from = axis.from;
        source.to = axis.to;
        source.count = axis.count;
        source.intervals = std::max<std::int64_t>(1, axis.endpoint ? axis.count - 1 : axis.count);
        source.stride = stride;
        stride *= axis.count;
    }
}

std::vector<double> set_frames(const JobSpec& job, const SourceOf& source_of) {
    const std::int64_t frames = frame_count(job);
    std::vector<double> numbers;
    for (const FrameChange& change : job.frame_changes()) {
        for (std::int64_t k = 0; k < frames; ++k) {
            const FrameRange range = change.at(k);
            numbers.insert(numbers.end(), {range.from, range.to});
        }
    }
    const double* next = numbers.data();
    for (const FrameChange& change : job.frame_changes()) {
        ParameterSource& source = source_of(change.key, change.element);
        source.frames = next;
        source.frame_points = job.point_count() / frames;
        next += 2 * frames;
    }
    return numbers;
}

std::int64_t frame_count(const JobSpec& job) {
    const SweepAxis* const axis = frame_axis(job.axes());
    return axis ? axis->count : 1;
}

void keep_frame(std::span<ParameterSource> sources, std::int64_t frame) {
    for (ParameterSource& source : sources) {
        if (source.frames == nullptr) continue;
        source.base = source.from = source.frames[2 * frame];
        source.to = source.frames[2 * frame + 1];
        source.frames = nullptr;
    }
}

std::vector<std::string> warnings_of_frames(
    std::int64_t frames, const std::function<std::vector<std::string>(std::int64_t)>& warnings_of) {
    struct Found {
        std::int64_t first = 0, last = 0, count = 0;
        std::string text;
    };
    std::vector<Found> kinds;
    for (std::int64_t k = 0; k < frames; ++k) {
        const std::vector<std::string> warnings = warnings_of(k);
        if (kinds.size() < warnings.size()) kinds.resize(warnings.size());
        for (std::size_t i = 0; i < warnings.size(); ++i) {
            if (warnings[i].empty()) continue;
            if (kinds[i].count++ == 0) kinds[i].first = k, kinds[i].text = warnings[i];
            kinds[i].last = k;
        }
    }
    std::vector<std::string> texts;
    for (const Found& found : kinds) {
        if (found.count == 0) continue;
        const bool all = found.count == found.last - found.first + 1;
        const std::string which =
            found.first == found.last
                ? fmt::format("frame {}", found.first)
                : fmt::format("{}frames {} to {}", all ? "" : "some of the ", found.first, found.last);
        std::string text = frames == 1 ? found.text : fmt::format("{}: {}", which, found.text);
        if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
    }
    return texts;
}

std::int64_t first_lost_frame(std::int64_t frames, const std::function<bool(std::int64_t)>& lost) {
    if (!lost(frames - 1)) return frames;
    std::int64_t fine = -1, bad = frames - 1;
    while (bad - fine > 1) {
        const std::int64_t middle = fine + (bad - fine) / 2;
        (lost(middle) ? bad : fine) = middle;
    }
    return bad;
}

}  // namespace voltpile
