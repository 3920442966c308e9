#include "results/hdf5/refined_levels.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "results/hdf5/attribute.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/group_io.h"
#include "results/parts/refined_values.h"
#include "results/refined_rows.h"

namespace voltpile {
namespace {

constexpr const char* computed_name = "computedPoints";
constexpr std::int64_t points_at_once = 1 << 20;

}  // namespace

void write_computed_points(hid_t file, std::int64_t points) {
    write_integer(file, computed_name, points);
}

std::optional<std::int64_t> read_computed_points(hid_t file) {
    if (!has_attribute(file, computed_name)) return std::nullopt;
    return read_integer(file, computed_name);
}

std::vector<Damage> damaged_levels(hid_t file, const ResultLayout& layout) {
    const auto field = std::ranges::find(layout.fields, level_field_name, &FieldSpec::name);
    if (field == layout.fields.end()) return {{"/", {}, "the field level of the refined result is missing"}};
    const Hdf5Dataset dataset = open_dataset(file, level_field_name);
    const RefinedOrder order = refined_order(layout);
    std::int64_t computed = 0, wrong = 0;
    WorkRange found;
    std::vector<std::int32_t> levels;
    for_each_block(order, points_at_once, [&](std::int64_t plane, WorkRange rows) {
        const std::int64_t first = (plane * order.height() + rows.begin) * order.width();
        const WorkRange points{first, first + rows.size() * order.width()};
        levels.resize(static_cast<std::size_t>(points.size()));
        read_points(dataset.get(), *field, points, H5T_NATIVE_INT32, levels.data());
        for (std::int64_t i = 0; i < points.size(); ++i) {
            const std::int64_t x = i % order.width(), y = rows.begin + i / order.width();
            const int own = order.level_of(x, y), level = levels[static_cast<std::size_t>(i)];
            computed += level == own ? 1 : 0;
            bool right = level == own;
            if (!right && own > 0) {
                const std::int64_t row = order.rows(own - 1).floor(y) - rows.begin;
                const std::int64_t corner = row * order.width() + order.columns(own - 1).floor(x);
                right = level == levels[static_cast<std::size_t>(corner)];
            }
            if (right) continue;
            if (wrong++ == 0) found.begin = first + i;
            found.end = first + i + 1;
        }
    });
    std::vector<Damage> damage;
    if (wrong > 0)
        damage.push_back({level_field_name, found,
                          fmt::format("level: {} have a level that the refined grid does not give them",
                                      points_text(wrong))});
    if (read_computed_points(file) != computed)
        damage.push_back({"/", {}, "the number of computed points does not fit the field level"});
    return damage;
}

}  // namespace voltpile
