#include "job/job_spec.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "base/error.h"
#include "job/job_builder.h"

namespace voltpile {
namespace {

// No job file is larger. Bounds the read if someone names a result file or a device instead.
constexpr std::size_t most_bytes = std::size_t{1} << 20;

[[noreturn]] void refuse(const char* action, const std::string& path, int error_number) {
    throw JobError(
        fmt::format("cannot {} {}: {}", action, path, std::generic_category().message(error_number)));
}

template <typename List>
const List& look_up(const std::map<std::string, Value>& values, const std::string& path) {
    const auto found = values.find(path);
    if (found == values.end()) throw std::logic_error("no such key in the table: " + path);
    const auto* list = std::get_if<List>(&found->second);
    if (!list) throw std::logic_error("key of another type: " + path);
    return *list;
}

template <typename List>
typename List::const_reference look_up_scalar(const std::map<std::string, Value>& values,
                                              const std::string& path) {
    const auto& list = look_up<List>(values, path);
    if (list.size() != 1) throw std::logic_error("not a scalar: " + path);
    return list[0];
}

}  // namespace

std::string read_job_text(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) refuse("open job file", path, errno);
    std::string text(most_bytes + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t count = read(file, text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            const int error_number = errno;
            close(file);
            refuse("read job file", path, error_number);
        }
        if (count == 0) break;
        size += static_cast<std::size_t>(count);
    }
    close(file);
    if (size > most_bytes)
        throw JobError(fmt::format("{}: larger than 1 MiB, so it is not a job file", path));
    text.resize(size);
    return text;
}

double SweepAxis::value(std::int64_t i) const {
    return value_in({from, to}, i);
}

double SweepAxis::value(std::int64_t i, std::int64_t frame) const {
    return value_in(frames.empty() ? FrameRange{from, to} : frames[static_cast<std::size_t>(frame)], i);
}

double SweepAxis::value_in(FrameRange range, std::int64_t i) const {
    const std::int64_t intervals = endpoint ? count - 1 : count;
    if (intervals == 0) return range.from;
    return range.from + (range.to - range.from) * static_cast<double>(i) / static_cast<double>(intervals);
}

double SweepAxis::part(std::int64_t i) const {
    const std::int64_t intervals = endpoint ? count - 1 : count;
    return intervals == 0 ? 0 : static_cast<double>(i) / static_cast<double>(intervals);
}

SweepAxis SweepAxis::in_frame(std::int64_t frame) const {
    SweepAxis axis = *this;
    if (frames.empty()) return axis;
    axis.frames.clear();
    axis.from = frames[static_cast<std::size_t>(frame)].from;
    axis.to = frames[static_cast<std::size_t>(frame)].to;
    return axis;
}

const SweepAxis* frame_axis(const std::vector<SweepAxis>& axes) {
    return !axes.empty() && axes.back().is_frames() ? &axes.back() : nullptr;
}

std::int64_t frame_of(const std::vector<SweepAxis>& axes, std::int64_t point) {
    if (!frame_axis(axes)) return 0;
    for (const SweepAxis& axis : axes)
        if (!axis.is_frames()) point /= axis.count;
    return point;
}

void set_frames(std::vector<SweepAxis>& axes, const std::vector<FrameChange>& changes) {
    const SweepAxis* const along = frame_axis(axes);
    if (!along) return;
    for (SweepAxis& axis : axes)
        for (const FrameChange& change : changes) {
            if (!change.swept || change.parameter != axis.parameter) continue;
            axis.frames.clear();
            for (std::int64_t k = 0; k < along->count; ++k) axis.frames.push_back(change.at(k));
        }
}

bool JobSpec::varies(const std::string& key, int element) const {
    const auto is_it = [&](const auto& each) { return each.key == key && each.element == element; };
    return std::ranges::any_of(axes_, is_it) || std::ranges::any_of(frame_changes_, is_it);
}

std::string JobSpec::name() const {
    return std::filesystem::path(path_).stem().string();
}

double JobSpec::real(const std::string& path) const {
    return look_up_scalar<Reals>(values_, path);
}
std::int64_t JobSpec::integer(const std::string& path) const {
    return look_up_scalar<Integers>(values_, path);
}
bool JobSpec::boolean(const std::string& path) const {
    return look_up_scalar<Booleans>(values_, path);
}
const std::string& JobSpec::text(const std::string& path) const {
    return look_up_scalar<Texts>(values_, path);
}
const Reals& JobSpec::reals(const std::string& path) const {
    return look_up<Reals>(values_, path);
}
const Integers& JobSpec::integers(const std::string& path) const {
    return look_up<Integers>(values_, path);
}
const Booleans& JobSpec::booleans(const std::string& path) const {
    return look_up<Booleans>(values_, path);
}
const Texts& JobSpec::texts(const std::string& path) const {
    return look_up<Texts>(values_, path);
}

std::int64_t JobSpec::point_count() const {
    std::int64_t points = 1;  // read_sweep() has checked for overflow
    for (const auto& axis : axes_) points *= axis.count;
    return points;
}

JobSpec load_job(const std::string& path, std::span<const std::string> overrides,
                 std::span<const AppSchema> apps) {
    return parse_job(read_job_text(path), path, overrides, apps);
}

JobSpec parse_job(const std::string& text, const std::string& path, std::span<const std::string> overrides,
                  std::span<const AppSchema> apps) {
    return JobBuilder(text, path, overrides, apps).build();
}

}  // namespace voltpile
