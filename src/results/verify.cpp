#include "results/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.h"
#include "results/admission.h"
#include "results/hdf5/check_group.h"
#include "results/hdf5/child_check.h"
#include "results/hdf5/content_checksum.h"
#include "results/hdf5/layout_file.h"
#include "results/hdf5/plan_group.h"
#include "results/hdf5/refined_levels.h"
#include "results/hdf5/result_check.h"
#include "results/hdf5/telemetry_file.h"
#include "results/parts/part_file.h"
#include "results/parts/part_listing.h"
#include "results/parts/part_scan.h"

namespace voltpile {
namespace {

// The points that no damage concerns.
RangeSet intact_points(const ResultLayout& layout, const std::vector<Damage>& damage) {
    RangeSet damaged;
    for (const Damage& each : damage) damaged.insert(each.points);
    return damaged.complement(layout.whole());
}

Verification verify_file(const std::filesystem::path& path) {
    Verification found;
    found.finished = true;
    const auto look = [&](hid_t) {
        try {
            read_result_file(path, CheckDepth::Structure);
        } catch (const FileError&) {
            // This process finds out below.
        }
        return std::vector<Damage>{};
    };
    found.damage = check_in_child({"/", {}, ""}, path, look);
    if (!found.ok()) return found;
    const ResultFile file = read_result_file(path, CheckDepth::Structure);
    if (file.state == ResultState::NotOurs) throw JobError(path.string() + " is no result of voltpile");
    if (file.state == ResultState::Newer)
        throw JobError(
            fmt::format("{} was written by a newer version of voltpile ({})", path.string(), file.problem));
    if (file.state != ResultState::Complete) {
        found.damage.push_back({"/", {}, file.problem});
        return found;
    }
    ResultLayout layout;
    {
        Hdf5Guard guard;
        const Hdf5File opened = open_hdf5(path.string());
        layout = read_layout(opened.get());
        found.has_checksums = has_checksums(opened.get());
        found.computed = read_computed_points(opened.get());
    }
    found.points = layout.point_count();
    const auto add = [&](const std::string& where, WorkRange points, const auto& check) {
        std::ranges::move(check_in_child({where, points, ""}, path, check), std::back_inserter(found.damage));
    };
    for (const FieldSpec& field : layout.fields)
        add(field.name, layout.whole(),
            [&](hid_t open) { return damaged_field(open, field, layout.whole()); });
    if (layout.refinement)
        add(level_field_name, layout.whole(), [&](hid_t open) { return damaged_levels(open, layout); });
    add("/", {}, [&](hid_t open) {
        std::vector<Damage> all = damaged_axes(open, layout);
        for (const auto& check :
             {damaged_check_values, damaged_plan_values, damaged_telemetry, damaged_content})
            std::ranges::move(check(open), std::back_inserter(all));
        return all;
    });
    found.intact = intact_points(layout, found.damage);
    return found;
}

bool part_has_checksum(const std::filesystem::path& path, const ResultLayout& layout) {
    Hdf5Guard guard;
    return PartFile(path, layout).has_checksum();
}

Verification verify_folder(const std::filesystem::path& folder) {
    const std::optional<ResultLayout> layout = read_manifest(folder);
    if (!layout) throw JobError(folder.string() + " holds no unfinished result of voltpile");
    Verification found;
    found.points = layout->point_count();
    found.has_checksums = true;
    found.damage = damaged_manifest(folder);
    std::map<std::int64_t, std::string> names;  // of the intact parts, by their first point
    for (const std::filesystem::path& path : list_folder(folder)) {
        if (!is_part(path)) continue;
        const std::string name = path.filename().string();
        std::optional<std::string> problem = part_problem(path, *layout);
        const WorkRange range = parse_part_name(name).value_or(WorkRange{});
        if (!problem && found.intact.overlaps(range))
            problem = "overlaps " + std::prev(names.lower_bound(range.end))->second;
        if (problem) {
            found.damage.push_back({name, range, fmt::format("{}: {}", name, *problem)});
            continue;
        }
        found.intact.insert(range);
        names[range.begin] = name;
        found.has_checksums = found.has_checksums && part_has_checksum(path, *layout);
    }
    return found;
}

}  // namespace

std::vector<Damage> damaged_manifest(const std::filesystem::path& folder) {
    Hdf5Guard guard;
    const Hdf5File file = open_hdf5((folder / manifest_name).string());
    std::vector<Damage> damage = damaged_content(file.get());
    for (Damage& each : damage)
        each = {manifest_name, {}, fmt::format("{}: {}", manifest_name, each.problem)};
    return damage;
}

Verification verify_parts_of(const std::filesystem::path& result) {
    const bool is_folder = result.extension() == ".parts";
    const std::filesystem::path folder = is_folder ? result : parts_path(result);
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error))
        throw JobError(folder.string() + " does not exist: the result has no parts");
    return verify_folder(folder);
}

Verification verify_result(const std::filesystem::path& result) {
    std::error_code error;
    if (result.extension() == ".parts" && std::filesystem::is_directory(result, error))
        return verify_folder(result);
    switch (result_source(result)) {
        case ResultSource::File:
            return verify_file(result);
        case ResultSource::Parts:
            return verify_folder(parts_path(result));
        case ResultSource::None:
            break;
    }
    throw JobError("there is no result " + result.string() + ", finished or not");
}

}  // namespace voltpile
