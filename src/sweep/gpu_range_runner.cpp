#include "sweep/gpu_range_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "plan/sweep_memory.h"

namespace voltpile {

GpuRangeRunner::GpuRangeRunner(const GpuProgram& program, const std::vector<OutcomeField>& fields,
                               int multiprocessors, const std::uint32_t* rest_ns)
    : program_(program),
      fields_(fields),
      multiprocessors_(multiprocessors),
      rest_ns_(rest_ns),
      counters_(1),
      counters_seen_(1) {}

void GpuRangeRunner::prepare(std::int64_t points) {
    std::size_t bytes_per_point = 0;
    for (const OutcomeField& field : fields_) bytes_per_point += field.spec.bytes_per_point();
    reserve(
        static_cast<std::size_t>(prepared_gpu_points(points, static_cast<std::int64_t>(bytes_per_point))));
    set_to_zero(counters_.data(), counters_.bytes(), stream_);
    program_.launch(gpu_range({0, 0}), multiprocessors_, stream_);
    stream_.synchronize();
}

bool GpuRangeRunner::start(WorkRange range, const RefinedLevel* level) {
    range_ = range;
    all_ = level == nullptr;
    chosen_ = level ? level->points_of(range) : std::vector<RefinedLevel::Chosen>();
    part_ = {};
    results_.clear();
    for (const OutcomeField& field : fields_) {
        results_.emplace_back(static_cast<std::size_t>(range.size()) * field.spec.bytes_per_point());
    }
    if (count() == 0) return false;
    start_part();
    return true;
}

void GpuRangeRunner::reserve(std::size_t points) {
    if (points <= capacity_) return;
    capacity_ = 0;
    values_.clear();
    std::size_t bytes = 0;
    for (const OutcomeField& field : fields_) {
        values_.emplace_back(points * field.spec.bytes_per_point());
        bytes += values_.back().bytes();
    }
    raw_ = DeviceBuffer<std::byte>();
    raw_ = DeviceBuffer<std::byte>(points * program_.raw_bytes());
    staging_ = PinnedBuffer<std::byte>(bytes);
    capacity_ = points;
}

GpuRange GpuRangeRunner::gpu_range(WorkRange part) {
    GpuRange range;
    range.begin = all_ ? range_.begin + part.begin : 0;
    if (!all_ && !part.empty()) {
        const auto points = static_cast<std::size_t>(part.size());
        for (std::size_t i = 0; i < points; ++i)
            numbers_here_.data()[i] = chosen_[static_cast<std::size_t>(part.begin) + i].point;
        copy_to_device(numbers_.data(), numbers_here_.data(), points * sizeof(std::int64_t), stream_);
        range.begin = numbers_here_.data()[0];
        range.numbers = numbers_.data();
    }
    range.points = static_cast<std::uint32_t>(part.size());
    range.counters = counters_.data();
    range.rest_ns = rest_ns_;
    for (std::size_t f = 0; f < fields_.size(); ++f) range.values[fields_[f].number] = values_[f].data();
    range.raw = raw_.data();
    return range;
}

void GpuRangeRunner::start_part() {
    part_ = {part_.end, std::min(count(), part_.end + kLargestGpuPart)};
    const auto points = static_cast<std::size_t>(part_.size());
    reserve(points);
    if (!all_ && numbers_.size() < points) {
        numbers_ = DeviceBuffer<std::int64_t>(points);
        numbers_here_ = PinnedBuffer<std::int64_t>(points);
    }
    units_taken_ = 0;
    set_to_zero(counters_.data(), counters_.bytes(), stream_);
    stream_.synchronize();  // so that take_units never sees the counts of the previous part
    program_.launch(gpu_range(part_), multiprocessors_, stream_);

    std::byte* to = staging_.data();
    for (std::size_t f = 0; f < fields_.size(); ++f) {
        const std::size_t bytes = points * fields_[f].spec.bytes_per_point();
        copy_to_host(to, values_[f].data(), bytes, stream_);
        to += bytes;
    }
}

void GpuRangeRunner::collect_part() {
    const std::byte* from = staging_.data();
    for (std::size_t f = 0; f < fields_.size(); ++f) {
        const std::size_t size = fields_[f].spec.bytes_per_point();
        const std::size_t bytes = static_cast<std::size_t>(part_.size()) * size;
        if (all_) std::memcpy(results_[f].data() + static_cast<std::size_t>(part_.begin) * size, from, bytes);
        for (std::size_t i = 0; !all_ && i < static_cast<std::size_t>(part_.size()); ++i) {
            const RefinedLevel::Chosen& to = chosen_[static_cast<std::size_t>(part_.begin) + i];
            std::memcpy(results_[f].data() + static_cast<std::size_t>(to.place) * size, from + i * size,
                        size);
        }
        from += bytes;
    }
}

bool GpuRangeRunner::advance() {
    if (!stream_.idle()) return false;
    moved_ = true;
    collect_part();
    const double taken = take_units();
    units_ += taken;
    if (part_.end == count()) return true;
    start_part();
    return false;
}

std::vector<FieldBuffer> GpuRangeRunner::take() {
    range_ = {};
    return std::move(results_);
}

double GpuRangeRunner::take_units() {
    if (busy()) {
        copy_to_host(counters_seen_.data(), counters_.data(), counters_.bytes(), watch_);
        watch_.synchronize();
        const GpuRange::Counters& now = *counters_seen_.data();
        moved_ |= now.beat != last_seen_.beat || now.next != last_seen_.next || now.units != last_seen_.units;
        last_seen_ = now;
        const auto seen = static_cast<double>(now.units);
        units_ += seen - units_taken_;
        units_taken_ = seen;
    }
    return std::exchange(units_, 0.0);
}

}  // namespace voltpile
