#include "threebody/gpu_range_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace voltpile::threebody {

namespace {
constexpr std::int64_t largest_part = 1 << 22;           // points
constexpr std::size_t most_prepared_bytes = 64UL << 20;  // of results
}  // namespace

GpuRangeRunner::GpuRangeRunner(const Problem& problem, const Problem* on_gpu,
                               std::vector<OutcomeField> fields, int multiprocessors)
    : problem_(problem),
      on_gpu_(on_gpu),
      fields_(std::move(fields)),
      multiprocessors_(multiprocessors),
      counters_(1),
      counters_seen_(1) {}

void GpuRangeRunner::prepare(std::int64_t points) {
    std::size_t bytes_per_point = 0;
    for (const OutcomeField field : fields_) bytes_per_point += field_spec(field, problem_).bytes_per_point();
    reserve(std::min(static_cast<std::size_t>(std::min(points, largest_part)),
                     most_prepared_bytes / bytes_per_point));
    set_to_zero(counters_.data(), counters_.bytes(), stream_);
    launch_sweep(problem_, on_gpu_, gpu_range({0, 0}), multiprocessors_, stream_);
    stream_.synchronize();
}

void GpuRangeRunner::start(WorkRange range) {
    range_ = range;
    part_ = {range.begin, range.begin};
    results_.clear();
    for (const OutcomeField field : fields_) {
        results_.emplace_back(static_cast<std::size_t>(range.size()) *
                              field_spec(field, problem_).bytes_per_point());
    }
    start_part();
}

void GpuRangeRunner::reserve(std::size_t points) {
    if (points <= capacity_) return;
    const bool states = problem_.want_energy_error || problem_.want_final_state;
    capacity_ = 0;
    steps_together_ = DeviceBuffer<std::int32_t>(points);
    energy_error_ = DeviceBuffer<double>(problem_.want_energy_error ? points : 0);
    closest_approach_ = DeviceBuffer<double>(problem_.want_closest_approach ? points : 0);
    state_ = DeviceBuffer<double>(states ? 18 * points : 0);
    std::size_t bytes = 0;
    for (const OutcomeField field : fields_) bytes += points * field_spec(field, problem_).bytes_per_point();
    staging_ = PinnedBuffer<std::byte>(bytes);
    capacity_ = points;
}

GpuRange GpuRangeRunner::gpu_range(WorkRange part) {
    GpuRange range;
    range.begin = part.begin;
    range.points = static_cast<std::uint32_t>(part.size());
    range.counters = counters_.data();
    range.steps_together = steps_together_.data();
    range.energy_error = energy_error_.data();
    range.closest_approach = closest_approach_.data();
    range.final_state = problem_.want_final_state ? state_.data() : nullptr;
    range.raw_state = state_.data();
    return range;
}

void GpuRangeRunner::start_part() {
    part_ = {part_.end, std::min(range_.end, part_.end + largest_part)};
    const auto points = static_cast<std::size_t>(part_.size());
    reserve(points);
    pair_steps_taken_ = 0;
    set_to_zero(counters_.data(), counters_.bytes(), stream_);
    stream_.synchronize();  // so that take_pair_steps never sees the counts of the previous part
    launch_sweep(problem_, on_gpu_, gpu_range(part_), multiprocessors_, stream_);

    std::byte* to = staging_.data();
    for (const OutcomeField field : fields_) {
        const void* from = field == OutcomeField::StepsTogether ? static_cast<void*>(steps_together_.data())
                           : field == OutcomeField::EnergyError ? static_cast<void*>(energy_error_.data())
                           : field == OutcomeField::ClosestApproach
                               ? static_cast<void*>(closest_approach_.data())
                               : static_cast<void*>(state_.data());
        const std::size_t bytes = points * field_spec(field, problem_).bytes_per_point();
        copy_to_host(to, from, bytes, stream_);
        to += bytes;
    }
}

void GpuRangeRunner::collect_part() {
    const std::byte* from = staging_.data();
    for (std::size_t f = 0; f < fields_.size(); ++f) {
        const std::size_t size = field_spec(fields_[f], problem_).bytes_per_point();
        const std::size_t bytes = static_cast<std::size_t>(part_.size()) * size;
        std::memcpy(results_[f].data() + static_cast<std::size_t>(part_.begin - range_.begin) * size, from,
                    bytes);
        from += bytes;
    }
}

bool GpuRangeRunner::advance() {
    if (!stream_.idle()) return false;
    collect_part();
    const double taken = take_pair_steps();
    pair_steps_ += taken;
    if (part_.end == range_.end) return true;
    start_part();
    return false;
}

std::vector<FieldBuffer> GpuRangeRunner::take() {
    range_ = {};
    return std::move(results_);
}

double GpuRangeRunner::take_pair_steps() {
    if (busy()) {
        copy_to_host(counters_seen_.data(), counters_.data(), counters_.bytes(), watch_);
        watch_.synchronize();
        const auto seen = static_cast<double>(counters_seen_.data()->pair_steps);
        pair_steps_ += seen - pair_steps_taken_;
        pair_steps_taken_ = seen;
    }
    return std::exchange(pair_steps_, 0.0);
}

}  // namespace voltpile::threebody
