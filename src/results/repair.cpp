#include "results/repair.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include "base/build_info.h"
#include "base/error.h"
#include "base/format.h"
#include "base/host_name.h"
#include "results/admission.h"
#include "results/change_result.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/group_io.h"
#include "results/hdf5/layout_file.h"
#include "results/hdf5/rows_io.h"
#include "results/open_result.h"
#include "results/parts/consolidate.h"
#include "results/parts/part_listing.h"
#include "results/parts/part_scan.h"
#include "results/parts/unused_parts.h"
#include "results/verify.h"

namespace voltpile {
namespace {

Provenance provenance_of_repair(const std::filesystem::path& parts, const std::string& command_line) {
    const BuildInfo build = build_info();
    Provenance made;
    made.software = software_name;
    made.software_version = build.version;
    made.git_revision = build.git_revision;
    made.date = fmt::format("{:%Y-%m-%d %H:%M:%S %z}", fmt::localtime(std::time(nullptr)));
    made.machine = "parts of earlier runs, put together on " + host_name();
    made.command_line = command_line;
    made.lives = static_cast<std::int64_t>(read_lives(parts).size());
    return made;
}

// The values of all fields over a range of a finished file.
std::vector<FieldBuffer> read_all_fields(hid_t file, const ResultLayout& layout, WorkRange range) {
    std::vector<FieldBuffer> data;
    for (const FieldSpec& field : layout.fields) {
        const Hdf5Dataset dataset = open_dataset(file, field.name);
        if (field.variable()) {
            data.push_back(read_rows(dataset.get(), field, range));
            continue;
        }
        FieldBuffer& values =
            data.emplace_back(static_cast<std::size_t>(range.size()) * field.bytes_per_point());
        read_points(dataset.get(), field, range, memory_type(field.type), values.data());
    }
    return data;
}

std::int64_t points_of_part(const ResultLayout& layout) {
    constexpr std::int64_t most_bytes = 64 << 20, most_rows = 4096;
    const bool variable = std::ranges::any_of(layout.fields, &FieldSpec::variable);
    const std::int64_t points = std::max<std::int64_t>(1, most_bytes / layout.bytes_per_point());
    return variable ? std::min(points, most_rows) : points;
}

class Repairer {
  public:
    Repairer(const std::filesystem::path& result, RepairMode mode, const std::string& command_line)
        : result_(result),
          parts_(parts_path(result)),
          preview_(mode == RepairMode::Preview),
          command_line_(command_line) {}

    Repair run() {
        refuse_if_written();
        if (result_source(result_) == ResultSource::File)
            repair_file();
        else
            repair_parts();
        return std::move(repair_);
    }

  private:
    void refuse_if_written() const {
        for (const PartsWriter& writer : writers_of(parts_))
            throw FileError(
                fmt::format("another run is writing {} ({}): repair it when that run has ended",
                            result_.string(), writer.run ? writer.run->text() : "not known which"),
                ExitCode::CannotRun);
    }

    void did(const std::string& sentence) { repair_.done.push_back(sentence); }

    void repair_file() {
        const Verification found = verify_result(result_);
        repair_.points = found.points;
        if (found.points == 0) {
            for (const Damage& each : found.damage) repair_.left.push_back(each.problem);
            repair_.left.push_back(
                "without a sound header no value can be trusted: compute it again with --fresh");
            return;
        }
        const ResultLayout layout = layout_of_file();
        std::set<std::string> groups;
        std::vector<std::string> of_attributes;
        bool values = false;
        for (const Damage& each : found.damage) {
            const std::string first = each.where.substr(0, each.where.find('/', 1));
            if (first == "check" || first == "plan" || first == "telemetry")
                groups.insert(first);
            else if (each.where == "/")
                of_attributes.push_back(each.problem);
            else
                values = true;
        }
        if (values) return salvage(layout, found);
        repair_.left = std::move(of_attributes);
        repair_.finished = true;
        for (const std::string& group : groups)
            did(fmt::format("{} the damaged group /{} from {}", verb("removed", "would remove"), group,
                            result_.string()));
        if (!groups.empty() && !preview_) drop_groups(groups);
        std::error_code error;
        if (found.ok() && std::filesystem::is_directory(parts_, error)) {
            if (!preview_) remove_left_over_parts(result_, layout);
            if (preview_ || !std::filesystem::exists(parts_, error))
                did(fmt::format("{} {}, which a run left beside the finished result",
                                verb("removed", "would remove"), parts_.string()));
        }
    }

    ResultLayout layout_of_file() const {
        Hdf5Guard guard;
        return read_layout(open_hdf5(result_.string()).get());
    }

    const char* verb(const char* now, const char* preview) const { return preview_ ? preview : now; }

    void drop_groups(const std::set<std::string>& groups) const {
        change_result(result_, [&](hid_t file) {
            for (const std::string& group : groups)
                hdf5_check_at(H5Ldelete(file, group.c_str(), H5P_DEFAULT), "write", file);
        });
    }

    // The mark that the parts are to replace the file comes last: until then readers use the file.
    void salvage(const ResultLayout& layout, const Verification& found) {
        if (layout.refinement) {  // its points are not those of parts
            for (const Damage& each : found.damage) repair_.left.push_back(each.problem);
            repair_.left.push_back("a refined result cannot be taken apart: compute it again with --fresh");
            return;
        }
        for (const Damage& each : found.damage) did(each.problem);
        if (preview_) {
            did(fmt::format("would turn the {} of {} that are intact into parts in {}",
                            count_text(found.intact.size()), points_text(found.points), parts_.string()));
            repair_.missing = found.points - found.intact.size();
            return;
        }
        PartFolder folder(result_, layout, PartFolder::IfOther::Refuse);
        RangeSet not_to_copy = found.intact.complement(layout.whole());
        for (const WorkRange& range : scan(folder, layout).completed.ranges()) not_to_copy.insert(range);
        RangeSet todo = not_to_copy.complement(layout.whole());
        const std::int64_t kept = todo.size();
        const std::int64_t piece = points_of_part(layout);
        while (!todo.empty()) {
            const WorkRange range = todo.take_front(piece);
            std::vector<FieldBuffer> data;
            {
                Hdf5Guard guard;
                data = read_all_fields(open_hdf5(result_.string()).get(), layout, range);
            }
            commit_part(folder.life(), layout, range, data);
        }
        write_in(folder.life(), parts_ / replaces_name, {});
        did(fmt::format("turned {} that {} intact into parts in {}", points_text(kept),
                        kept == 1 ? "is" : "are", parts_.string()));
        finish(folder, layout);
    }

    void repair_parts() {
        const std::optional<ResultLayout> layout = read_manifest(parts_);
        if (!layout) throw JobError(parts_.string() + " holds no unfinished result of voltpile");
        repair_.points = layout->point_count();
        for (const Damage& each : damaged_manifest(parts_))
            repair_.left.push_back(each.problem + ": the job's command writes it again");
        if (!repair_.left.empty()) return;
        for (const LifeName& life : list_lives(parts_))
            did(fmt::format("{} {}, which a run left that has ended", verb("removed", "would remove"),
                            (parts_ / life.text()).string()));
        if (preview_) return preview_parts();
        PartFolder folder(result_, *layout, PartFolder::IfOther::Refuse);
        finish(folder, *layout);
    }

    void preview_parts() {
        const Verification found = verify_result(result_);
        for (const Damage& each : found.damage) did("would move aside " + each.problem);
        repair_.missing = found.points - found.intact.size();
        if (repair_.missing == 0) did(fmt::format("would write {} from its parts", result_.string()));
    }

    PartScan scan(const PartFolder& folder, const ResultLayout& layout) {
        PartScan found = scan_parts(folder.life(), layout, layout.whole());
        for (const RejectedPart& part : found.rejected)
            did(fmt::format("moved aside {}: {}", part.path.filename().string(), part.reason));
        return found;
    }

    void finish(PartFolder& folder, const ResultLayout& layout) {
        const PartScan found = scan(folder, layout);
        repair_.missing = layout.point_count() - found.completed.size();
        if (repair_.missing > 0) return;
        consolidate(folder.life(), layout, found.parts, provenance_of_repair(parts_, command_line_));
        folder.remove();
        repair_.finished = true;
        did(fmt::format("wrote {} from its parts", result_.string()));
    }

    std::filesystem::path result_, parts_;
    bool preview_;
    std::string command_line_;
    Repair repair_;
};

}  // namespace

Repair repair_result(const std::filesystem::path& result, RepairMode mode, const std::string& command_line) {
    std::error_code error;
    const bool folder = result.extension() == ".parts" && std::filesystem::is_directory(result, error);
    const std::filesystem::path of = folder ? std::filesystem::path(result).replace_extension() : result;
    if (result_source(of) == ResultSource::None)
        throw JobError("there is no result " + of.string() + ", finished or not");
    return Repairer(of, mode, command_line).run();
}

}  // namespace voltpile
