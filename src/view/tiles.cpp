#include "view/tiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "plot/color_tables.h"
#include "plot/plane.h"

namespace voltpile {
namespace {

constexpr std::size_t most_cached = 128;  // tiles of at most 512 KiB
constexpr int greatest_level = 40;
constexpr std::int64_t rows_per_block = 4;

// The page places points with these.
nlohmann::json range_json(const SweepAxis& axis) {
    const double first = axis.value(0), last = axis.value(axis.count - 1);
    return {{"first", first},
            {"step", axis.count > 1 ? (last - first) / static_cast<double>(axis.count - 1) : 0}};
}

nlohmann::json axis_json(const SweepAxis& axis) {
    nlohmann::json json = range_json(axis);
    json["name"] = axis.name;
    json["parameter"] = axis.parameter;
    json["unit"] = axis.unit;
    json["count"] = axis.count;
    for (std::int64_t k = 0; k < std::ssize(axis.frames); ++k)
        json["frames"].push_back(range_json(axis.in_frame(k)));
    return json;
}

nlohmann::json field_json(const FieldSpec& field) {
    nlohmann::json dimensions = nlohmann::json::array();
    for (const FieldDimension& dimension : field.dimensions)
        dimensions.push_back({{"name", dimension.name}, {"labels", dimension.labels}});
    nlohmann::json json = {{"name", field.name},
                           {"unit", field.unit},
                           {"about", field.long_name},
                           {"dimensions", dimensions},
                           {"words", field.labels}};
    if (field.plot_from) json["plotFrom"] = *field.plot_from;
    return json;
}

std::uint32_t packed(Rgb color) {
    return static_cast<std::uint32_t>(color.red << 16 | color.green << 8 | color.blue);
}

}  // namespace

Tiles::Tiles(std::filesystem::path result)
    : path_(std::move(result)), result_(std::make_unique<ResultReader>(path_)) {
    if (result_->layout().axes.empty())
        throw JobError(path_.string() +
                       ": a result without sweep axes is a single point: there is nothing to view");
    const auto drawable = [](const FieldSpec& field) { return !field.variable(); };
    if (std::ranges::none_of(result_->layout().fields, drawable))
        throw JobError(path_.string() + " has only texts and lists, which view cannot draw");
}

std::string Tiles::description() {
    if (!result_->complete()) {
        auto now = std::make_unique<ResultReader>(path_);
        if (now->complete() || now->done() != result_->done()) {
            cache_.clear();
            order_.clear();
        }
        result_ = std::move(now);
    }
    const ResultLayout& layout = result_->layout();
    nlohmann::json json = {{"name", path_.filename().string()}, {"job", layout.job_path},
                           {"complete", result_->complete()},   {"points", layout.point_count()},
                           {"done", result_->done()},           {"axes", nlohmann::json::array()},
                           {"fields", nlohmann::json::array()}};
    for (const SweepAxis& axis : layout.axes) json["axes"].push_back(axis_json(axis));
    for (const FieldSpec& field : layout.fields)
        if (!field.variable()) json["fields"].push_back(field_json(field));
    return json.dump();
}

const std::string& Tiles::tile(const TileRequest& request) {
    const std::string key = fmt::format("{} {} {} {} {}", request.field, fmt::join(request.at, " "),
                                        request.level, request.x, request.y);
    const auto found = cache_.find(key);
    if (found != cache_.end()) return found->second;
    std::string bytes = computed(request);
    if (cache_.size() >= most_cached) {
        cache_.erase(order_.front());
        order_.pop_front();
    }
    order_.push_back(key);
    return cache_[key] = std::move(bytes);
}

std::string Tiles::computed(const TileRequest& request) const {
    const ResultLayout& layout = result_->layout();
    const auto field = std::ranges::find_if(
        layout.fields, [&](const FieldSpec& f) { return f.name == request.field && !f.variable(); });
    if (field == layout.fields.end())
        throw JobError(fmt::format("there is no field {} to draw", request.field));
    if (request.level < 0 || request.level > greatest_level) throw JobError("there is no such level");
    const Plane plane(*result_, *field, make_slice(layout, *field, request.at),
                      std::int64_t{1} << request.level, rows_per_block);
    const std::int64_t columns = (plane.width() + side - 1) / side, rows = (plane.height() + side - 1) / side;
    if (request.x < 0 || request.x >= columns || request.y < 0 || request.y >= rows)
        throw JobError("there is no such tile");
    std::string bytes;
    const std::int64_t left = request.x * side, top = request.y * side;
    for (std::int64_t y = top; y < std::min(top + side, plane.height()); ++y) {
        const std::vector<double> row = plane.row(y, left, std::min(left + side, plane.width()));
        bytes.append(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(double));
    }
    return bytes;
}

std::string color_maps_json() {
    nlohmann::json maps, missing;
    for (const std::string& name : color_map_names()) {
        const ColorMap map = color_map_named(name, "");
        const auto table = color_table(map);
        maps[name] = std::vector<std::uint32_t>(table.begin(), table.end());
        missing[name] = packed(missing_color(map));
    }
    for (std::int64_t i = 0; i < 64; ++i) maps["classes"].push_back(packed(class_color(i)));
    return nlohmann::json{{"maps", maps}, {"missing", missing}}.dump();
}

}  // namespace voltpile
