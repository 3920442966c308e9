#include "results/parts/refined_parts.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "results/parts/part_listing.h"
#include "results/parts/refined_values.h"
#include "work/range_set.h"

namespace voltpile {
namespace {

std::size_t index_of_levels(const ResultLayout& layout) {
    const auto found = std::ranges::find(layout.fields, level_field_name, &FieldSpec::name);
    if (found == layout.fields.end()) throw FileError("a refined result lacks the field level");
    return static_cast<std::size_t>(found - layout.fields.begin());
}

}  // namespace

RefinedOrder refined_order(const ResultLayout& layout) {
    std::vector<std::int64_t> counts;
    for (const SweepAxis& axis : layout.axes) counts.push_back(axis.count);
    return {counts, layout.refinement.value().levels};
}

RefinedParts::RefinedParts(const ResultLayout& layout, std::vector<PartInfo> parts)
    : layout_(layout),
      parts_(std::move(parts)),
      order_(refined_order(layout)),
      level_field_(index_of_levels(layout)),
      open_(static_cast<std::size_t>(order_.levels()) + 1),
      rows_(order_) {}

void RefinedParts::begin(std::int64_t plane, WorkRange rows) {
    rows_.begin(plane, rows, [this](WorkRange positions, std::byte* to) {
        constexpr std::size_t bytes = sizeof(std::int32_t);
        std::fill_n(to, static_cast<std::size_t>(positions.size()) * bytes, std::byte{0xff});  // -1
        read(level_field_, positions, H5T_NATIVE_INT32, bytes, to);
    });
}

std::vector<std::byte> RefinedParts::values(std::size_t field) {
    const FieldSpec& spec = layout_.fields[field];
    const std::size_t bytes = spec.bytes_per_point();
    return rows_.values(bytes, [&](WorkRange positions, std::byte* to) {
        read(field, positions, memory_type(spec.type), bytes, to);
    });
}

std::vector<double> RefinedParts::numbers_at(std::size_t field, WorkRange positions) {
    const std::size_t width = layout_.fields[field].values_per_point();
    std::vector<double> values(static_cast<std::size_t>(positions.size()) * width,
                               std::numeric_limits<double>::quiet_NaN());
    read(field, positions, H5T_NATIVE_DOUBLE, width * sizeof(double),
         reinterpret_cast<std::byte*>(values.data()));
    return values;
}

std::vector<double> RefinedParts::numbers(std::size_t field) {
    const std::size_t bytes_per_point = layout_.fields[field].values_per_point() * sizeof(double);
    const std::vector<std::byte> bytes =
        rows_.values(bytes_per_point, [&](WorkRange positions, std::byte* to) {
            const std::vector<double> values = numbers_at(field, positions);
            if (!values.empty()) std::memcpy(to, values.data(), values.size() * sizeof(double));
        });
    std::vector<double> numbers(bytes.size() / sizeof(double));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
}

std::vector<double> read_level(const std::filesystem::path& parts, const ResultLayout& layout,
                               WorkRange positions) {
    Hdf5Guard guard;
    const std::vector<PartInfo> all = list_parts(parts, layout);
    RangeSet there;
    for (const PartInfo& part : all) there.insert(part.range);
    if (!there.contains(positions))
        throw FileError(parts.string() + " lacks parts that had been committed; run the same command again");
    const auto field = std::ranges::find(layout.fields, layout.refinement.value().field, &FieldSpec::name);
    return RefinedParts(layout, all)
        .numbers_at(static_cast<std::size_t>(field - layout.fields.begin()), positions);
}

void RefinedParts::read(std::size_t field, WorkRange positions, hid_t type, std::size_t bytes,
                        std::byte* to) {
    if (positions.empty()) return;
    std::optional<PartFile>& open =
        open_[static_cast<std::size_t>(order_.level_of_position(positions.begin))];
    auto part = std::ranges::partition_point(
        parts_, [&](const PartInfo& each) { return each.range.end <= positions.begin; });
    for (; part != parts_.end() && part->range.begin < positions.end; ++part) {
        const WorkRange piece{std::max(positions.begin, part->range.begin),
                              std::min(positions.end, part->range.end)};
        if (!open || open->range() != part->range) open.emplace(part->path, layout_);
        open->read(field, piece, type, to + static_cast<std::size_t>(piece.begin - positions.begin) * bytes);
    }
}

}  // namespace voltpile
