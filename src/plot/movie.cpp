#include "plot/movie.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/build_info.h"
#include "base/error.h"
#include "job/fingerprint.h"
#include "plot/field_picture.h"
#include "plot/movie_file.h"

namespace voltpile {
namespace {

// Threads that this process may use.
int available_threads() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

class Movie {
  public:
    Movie(const ResultReader& result, const PlotOptions& look, const MovieOptions& options)
        : result_(result),
          look_(look),
          options_(options),
          layout_(result.layout()),
          field_(chosen_field(layout_, look.field)) {
        if (layout_.axes.size() < 3)
            throw JobError(
                fmt::format("--movie: {} has {} of the three axes that a movie needs: two to draw and "
                            "one to play",
                            result.path().string(), layout_.axes.size()));
        if (!std::isfinite(options.fps) || options.fps <= 0)
            throw JobError(fmt::format("--fps {}: must be a positive number", options.fps));
        frames_ = layout_.axes.back().count;
        frame_points_ = layout_.point_count() / frames_;
        is_mp4_ = options.output.extension() == ".mp4";
        report_.folder = is_mp4_ ? std::filesystem::path(options.output).replace_extension() : options.output;
        report_.frames = frames_;
        block_ = block_size(slice_of(0), look.size);
    }

    MovieReport draw() {
        check_places();
        for (std::int64_t k = 0; k < frames_; ++k)
            if (result_.completed().contains(points_of(k))) ready_.push_back(k);
        report_.missing = frames_ - std::ssize(ready_);
        if (!options_.own_scales) set_common_scale();
        std::filesystem::create_directories(report_.folder);
        draw_frames();
        if (is_mp4_ && report_.missing == 0) {
            write_mp4(options_.output, report_.folder, frames_, options_.fps);
            report_.has_mp4 = true;
        }
        return report_;
    }

  private:
    WorkRange points_of(std::int64_t frame) const {
        return {frame * frame_points_, (frame + 1) * frame_points_};
    }

    std::vector<std::string> place_of(std::int64_t frame) const {
        std::vector<std::string> at = look_.at;
        at.push_back(fmt::format("{}={}", layout_.axes.back().name, frame));
        return at;
    }

    Slice slice_of(std::int64_t frame) const { return make_slice(layout_, field_, place_of(frame)); }

    std::filesystem::path path_of(std::int64_t frame) const { return report_.folder / frame_name(frame); }

    void check_places() const {
        std::error_code error;
        if (std::filesystem::exists(report_.folder, error) &&
            !std::filesystem::is_directory(report_.folder, error))
            throw JobError(fmt::format("--movie {}: is not a folder", report_.folder.string()));
        for (std::int64_t k = 0; k < frames_; ++k)
            if (std::filesystem::exists(path_of(k), error))
                check_picture_place(path_of(k), "--movie", {result_.path()});
        if (is_mp4_) check_mp4_place(options_.output, {result_.path()});
    }

    // All frames as one high picture.
    void set_common_scale() {
        Picture all;
        std::optional<Plane> plane;
        std::int64_t of_plane = -1;
        const std::int64_t height = Plane(result_, field_, slice_of(0), block_).height();
        all.height = height * std::ssize(ready_);
        all.row = [&](std::int64_t y) {
            const std::int64_t frame = ready_[static_cast<std::size_t>(y / height)];
            if (std::exchange(of_plane, frame) != frame)
                plane.emplace(result_, field_, slice_of(frame), block_);
            std::vector<double> row = plane->row(y % height);
            if (field_.plot_from)
                for (double& value : row) value = *field_.plot_from - value;
            return row;
        };
        all.labels.shown = shown_quantity(field_);
        common_ = color_scale(all, wanted_scale(field_, look_), field_.plot_from.has_value());
        common_look_ = look_text(*common_);
        common_->points = common_->without = common_->unshowable = 0;
        Picture scaled;
        scaled.colors = *common_;
        scaled.labels = all.labels;
        check_contours(look_.contours, scaled);
    }

    // What decides how values and the picture around them look.
    std::string look_text(const ColorScale& colors) const {
        return hash_128(fmt::format(
            "{} {} {} {} {:.17g} {:.17g} {} {} {} {} {} {} {:.17g} {:.17g}", build_info().version,
            field_.name, static_cast<int>(colors.map), static_cast<int>(colors.scaling), colors.min,
            colors.max, colors.period, look_.size, int{look_.bare}, int{look_.deep}, int{look_.shade},
            fmt::join(look_.at, " "), fmt::join(look_.contours, " "), fmt::join(colors.ranked, " ")));
    }

    static std::string hash_of_values(const Picture& picture) {
        std::string rows;
        for (std::int64_t y = 0; y < picture.height; ++y) {
            const std::vector<double> row = picture.row(y);
            rows += hash_128({reinterpret_cast<const char*>(row.data()), row.size() * sizeof row[0]});
        }
        return hash_128(rows);
    }

    void draw_frame(std::int64_t frame) {
        const Plane plane(result_, field_, slice_of(frame), block_);
        Picture picture = uncolored_picture(result_, plane, field_);
        ColorScale colors =
            common_ ? *common_
                    : color_scale(picture, wanted_scale(field_, look_), field_.plot_from.has_value());
        picture.signature =
            hash_128(fmt::format("{} {} {} {}", layout_.fingerprint,
                                 common_ ? common_look_ : look_text(colors), frame, hash_of_values(picture)));
        if (is_signed(path_of(frame), picture.signature)) return;
        if (common_)  // which values of this frame have no color
            for (std::int64_t y = 0; y < picture.height; ++y)
                for (const double value : picture.row(y)) count_in(value, colors);
        set_colors(picture, field_, std::move(colors), place_of(frame));
        draw_pictures(path_of(frame), {picture},
                      {look_.size, look_.bare, look_.deep, look_.shade, look_.contours});
        const std::lock_guard lock(mutex_);
        ++report_.drawn;
    }

    static void count_in(double value, ColorScale& colors) {
        const double min = colors.min, max = colors.max;
        colors.include(value);
        colors.min = min, colors.max = max;
    }

    void draw_frames() {
        std::atomic<std::size_t> next = 0;
        std::exception_ptr failure;
        const auto work = [&] {
            try {
                for (std::size_t i = next++; i < ready_.size(); i = next++) draw_frame(ready_[i]);
            } catch (...) {
                const std::lock_guard lock(mutex_);
                if (!failure) failure = std::current_exception();
                next = ready_.size();
            }
        };
        const int count = options_.threads > 0 ? options_.threads : available_threads();
        std::vector<std::jthread> threads;
        for (int i = 1; i < std::min<std::int64_t>(count, std::ssize(ready_)); ++i)
            threads.emplace_back(work);
        work();
        threads.clear();
        if (failure) std::rethrow_exception(failure);
    }

    const ResultReader& result_;
    const PlotOptions& look_;
    const MovieOptions& options_;
    const ResultLayout& layout_;
    const FieldSpec& field_;
    std::int64_t frames_ = 0, frame_points_ = 0, block_ = 1;
    bool is_mp4_ = false;
    std::vector<std::int64_t> ready_;  // frames whose points are all computed
    std::optional<ColorScale> common_;
    std::string common_look_;
    std::mutex mutex_;
    MovieReport report_;
};

}  // namespace

MovieReport draw_movie(const ResultReader& result, const PlotOptions& look, const MovieOptions& options) {
    return Movie(result, look, options).draw();
}

}  // namespace voltpile
