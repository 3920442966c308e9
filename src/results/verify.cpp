#include "results/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "results/admission.h"
#include "results/hdf5/check_group.h"
#include "results/hdf5/layout_file.h"
#include "results/hdf5/plan_group.h"
#include "results/hdf5/result_check.h"
#include "results/parts/part_file.h"
#include "results/parts/part_listing.h"
#include "results/parts/part_scan.h"

namespace voltpile {
namespace {

Verification verify_file(const std::filesystem::path& path) {
    Verification found;
    found.finished = true;
    const ResultFile file = read_result_file(path, CheckDepth::Structure);
    if (file.state == ResultState::NotOurs) throw JobError(path.string() + " is no result of voltpile");
    if (file.state == ResultState::Newer)
        throw JobError(
            fmt::format("{} was written by a newer version of voltpile ({})", path.string(), file.problem));
    if (file.state != ResultState::Complete) {
        found.problems.push_back(file.problem);
        return found;
    }
    Hdf5Guard guard;
    const Hdf5File opened = open_hdf5(path.string());
    const ResultLayout layout = read_layout(opened.get());
    found.points = layout.point_count();
    found.has_checksums = has_checksums(opened.get());
    found.problems = damaged_values(opened.get(), layout);
    for (std::vector<std::string>& of_group :
         std::vector{damaged_check_values(opened.get()), damaged_plan_values(opened.get())})
        std::ranges::move(of_group, std::back_inserter(found.problems));
    if (found.ok()) found.intact = RangeSet(layout.whole());
    return found;
}

bool part_has_checksum(const std::filesystem::path& path, const ResultLayout& layout) {
    Hdf5Guard guard;
    return PartFile(path, layout).has_checksum();
}

Verification verify_parts(const std::filesystem::path& folder) {
    const std::optional<ResultLayout> layout = read_manifest(folder);
    if (!layout) throw JobError(folder.string() + " holds no unfinished result of voltpile");
    Verification found;
    found.points = layout->point_count();
    found.has_checksums = true;
    for (const std::filesystem::path& path : list_folder(folder)) {
        if (!is_part(path)) continue;
        std::optional<std::string> problem = part_problem(path, *layout);
        const std::optional<WorkRange> range = parse_part_name(path.filename().string());
        if (!problem && found.intact.overlaps(*range)) problem = "overlaps another part";
        if (problem) {
            found.problems.push_back(fmt::format("{}: {}", path.filename().string(), *problem));
            continue;
        }
        found.intact.insert(*range);
        found.has_checksums = found.has_checksums && part_has_checksum(path, *layout);
    }
    return found;
}

}  // namespace

Verification verify_result(const std::filesystem::path& result) {
    std::error_code error;
    if (result.extension() == ".parts" && std::filesystem::is_directory(result, error))
        return verify_parts(result);
    switch (result_source(result)) {
        case ResultSource::File:
            return verify_file(result);
        case ResultSource::Parts:
            return verify_parts(parts_path(result));
        case ResultSource::None:
            break;
    }
    throw JobError("there is no result " + result.string() + ", finished or not");
}

}  // namespace voltpile
