#include "results/admission.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/error.h"
#include "base/format.h"
#include "plan/grid.h"
#include "results/parts/durable_file.h"
#include "results/parts/lock_file.h"
#include "results/parts/part_listing.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;
using Verdict = Admission::Verdict;
using Cause = Admission::Cause;

// The nearest folder above `path` that exists, and the first entry below it that does not.
struct Nearest {
    fs::path folder;
    fs::path missing;
};

Nearest nearest_folder(const fs::path& path) {
    Nearest found{folder_of(path), path};
    std::error_code error;
    while (!fs::exists(found.folder, error) && found.folder != folder_of(found.folder)) {
        found.missing = found.folder;
        found.folder = folder_of(found.folder);
    }
    return found;
}

std::string place_problem(const fs::path& result, const fs::path& parts) {
    if (!result.has_filename() || result.filename() == "." || result.filename() == "..")
        return fmt::format("{} names a folder: add the name of a file, such as {}", result.string(),
                           (result / "result.h5").lexically_normal().string());
    const Nearest nearest = nearest_folder(parts);
    std::error_code error;
    if (!fs::is_directory(nearest.folder, error))
        return FileError("create the folder", nearest.folder.string(), ENOTDIR).what();
    if (!fs::exists(parts, error) && ::access(nearest.folder.c_str(), W_OK | X_OK) != 0)
        return FileError("create the folder", nearest.missing.string(), errno).what();
    return "";
}

std::optional<double> free_bytes_at(const fs::path& folder) {
    struct statvfs space {};
    if (::statvfs(folder.c_str(), &space) != 0 || space.f_blocks == 0) return std::nullopt;
    return static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
}

double bytes_on_disk(const fs::path& path) {
    constexpr double block_bytes = 512;  // the unit of st_blocks on every file system
    struct stat found {};
    return ::lstat(path.c_str(), &found) == 0 ? block_bytes * static_cast<double>(found.st_blocks) : 0;
}

// The folder's entries; none once a run that has finished has removed it.
std::vector<fs::path> entries_of(const fs::path& parts) {
    try {
        return list_folder(parts);
    } catch (const FileError&) {
        std::error_code error;
        if (fs::is_directory(parts, error)) throw;
        return {};
    }
}

void look_at_room(ResultSituation& found) {
    found.disk = nearest_folder(found.parts).folder;
    found.free_bytes = free_bytes_at(found.disk);
    if (!found.owner) return;
    for (const fs::path& entry : entries_of(found.parts)) {
        if (is_part(entry)) found.bytes_of_parts += bytes_on_disk(entry);
        if (!is_life(entry)) continue;
        std::error_code error;
        for (fs::directory_iterator it(entry, error); !error && it != fs::directory_iterator();
             it.increment(error))
            found.bytes_of_lives += bytes_on_disk(it->path());
    }
}

void look_at_parts(ResultSituation& found, const AdmissionRequest& request) {
    std::error_code error;
    if (!fs::is_directory(found.parts, error)) return;
    try {
        found.owner = read_part_owner(found.parts);
        found.marked_to_replace = fs::is_regular_file(found.parts / replaces_name, error);
        found.committed = named_parts(found.parts);
        found.busy = busy_text(found.parts, found.result, request.claim);
    } catch (const FileError&) {
        // A run that has just finished has removed the folder.
        if (fs::is_directory(found.parts, error)) throw;
        found.owner.reset();
    }
}

bool replaces(const ResultSituation& found, const ResultLayout& layout) {
    return found.marked_to_replace && found.owner && found.owner->manifest &&
           found.owner->manifest->fingerprint == layout.fingerprint;
}

// Why the file at the result's place must stay. Empty if it may be replaced or does not exist.
std::string file_refusal(const ResultSituation& found, const ResultLayout& layout, bool may_replace) {
    const ResultFile& file = found.file;
    const std::string path = found.result.string();
    switch (file.state) {
        case ResultState::Absent:
            return "";
        case ResultState::Complete:
        case ResultState::OtherJob:
            if (file.fingerprint == layout.fingerprint || may_replace) return "";
            if (const auto changed = changed_inputs_text(layout, file.inputs); !changed.empty())
                return fmt::format(
                    "{}: {} is the result of other inputs: {}; choose another --output, or --fresh to "
                    "replace it",
                    layout.job_path, path, changed);
            return fmt::format(
                "{} holds the result of another job; choose another --output, or --fresh to replace it",
                path);
        case ResultState::Damaged:
            if (file.fingerprint == layout.fingerprint)
                return may_replace ? ""
                                   : fmt::format(
                                         "{} is a damaged HDF5 file, or a result that was never completed "
                                         "({}): it stays as it is; --fresh computes it again",
                                         path, file.problem);
            return fmt::format(
                "{} is a damaged HDF5 file, or a result that was never completed ({}): it stays as it "
                "is; remove it, or choose another --output",
                path, file.problem);
        case ResultState::Newer:
            return fmt::format(
                "{} was written by a newer version of voltpile ({}): it stays as it is; use that "
                "version, or choose another --output",
                path, file.problem);
        case ResultState::NotOurs:
            break;
    }
    std::error_code error;
    return fmt::format("{} exists and was not written by voltpile: it stays as it is; {}", path,
                       fs::is_directory(found.result, error)
                           ? "it is a folder: name a file in it with --output"
                           : "choose another --output");
}

// The least that a point takes in a part and in the result: of a list or text only where it begins.
double least_bytes_per_point(const ResultLayout& layout) {
    double bytes = 0;
    for (const FieldSpec& field : layout.fields)
        bytes += field.variable() ? sizeof(std::int64_t) : static_cast<double>(field.bytes_per_point());
    return bytes;
}

// The bytes that a sweep over axes of these lengths takes while it is computed, with all its parts.
double bytes_while_computed(const std::vector<std::int64_t>& counts, double bytes_per_point) {
    double points = 1, coordinates = 0;
    for (const std::int64_t count : counts) {
        points *= static_cast<double>(count);
        coordinates += sizeof(double) * static_cast<double>(count);
    }
    return 2 * points * bytes_per_point + coordinates;
}

// Bytes on the disk of the result.
struct DiskNeed {
    double parts = 0;
    double result = 0;
    double free = 0;  // with what the next run removes
};

std::optional<DiskNeed> disk_need(const ResultSituation& found, const ResultLayout& layout,
                                  const AdmissionRequest& request) {
    if (!found.free_bytes) return std::nullopt;
    const double each = least_bytes_per_point(layout);
    const WorkRange own = request.claim.shard.interval(layout.point_count());
    const auto done = request.fresh ? 0 : found.committed.within(own).size();
    DiskNeed need;
    need.parts = each * static_cast<double>(own.size() - done);
    need.result = each * static_cast<double>(layout.point_count());
    for (const SweepAxis& axis : layout.axes) need.result += sizeof(double) * static_cast<double>(axis.count);
    need.free = *found.free_bytes + found.bytes_of_lives + (request.fresh ? found.bytes_of_parts : 0);
    return need;
}

std::string room_refusal(const ResultSituation& found, const ResultLayout& layout,
                         const AdmissionRequest& request) {
    const std::optional<DiskNeed> need = disk_need(found, layout, request);
    if (!need || need->parts + need->result <= need->free) return "";
    return fmt::format(
        "{} needs {} while it is computed ({} for its parts, {} for the result), but the file system of {} "
        "has {} "
        "free: make room, choose another --output, or compute fewer points{}",
        found.result.string(), bytes_text(need->parts + need->result), bytes_text(need->parts),
        bytes_text(need->result), found.disk.string(), bytes_text(need->free),
        largest_grid_text(layout.axes, [&](const std::vector<std::int64_t>& counts) {
            return bytes_while_computed(counts, least_bytes_per_point(layout)) <= need->free;
        }));
}

}  // namespace

std::string room_text(const ResultSituation& found, const ResultLayout& layout,
                      const AdmissionRequest& request) {
    const std::optional<DiskNeed> need = disk_need(found, layout, request);
    if (!need) return "";
    return fmt::format(
        "{} while it is computed ({} for parts, {} for the result); the file system of {} has {} free",
        bytes_text(need->parts + need->result), bytes_text(need->parts), bytes_text(need->result),
        found.disk.string(), bytes_text(need->free));
}

ExitCode Admission::exit_code() const {
    if (verdict != Verdict::Refuse) return ExitCode::Done;
    return cause == Cause::Room ? ExitCode::CannotRun : ExitCode::BadInput;
}

void Admission::throw_if_refused() const {
    if (verdict != Verdict::Refuse) return;
    if (cause == Cause::Room) throw MachineError(message);
    throw JobError(message);
}

ResultSituation look_at_result(const fs::path& result, const AdmissionRequest& request) {
    ResultSituation found;
    found.result = result;
    found.parts = parts_path(result);
    found.place_problem = place_problem(result, found.parts);
    if (!found.place_problem.empty()) return found;
    // Values are of no interest where the file will be replaced.
    found.file = read_result_file(result, request.fresh ? CheckDepth::Structure : CheckDepth::SmallValues);
    look_at_parts(found, request);
    look_at_room(found);
    return found;
}

Admission decide(const ResultSituation& found, const ResultLayout& layout, const AdmissionRequest& request) {
    const auto refuse = [](Cause cause, std::string why) {
        return Admission{Verdict::Refuse, cause, std::move(why)};
    };
    if (request.fresh && !request.claim.shard.is_whole())
        return refuse(
            Cause::Arguments,
            fmt::format("--fresh would discard what other shards have done; to compute {} again in shards, "
                        "first remove it, and {} if there is one",
                        found.result.string(), found.parts.string()));
    if (!found.place_problem.empty()) return refuse(Cause::Place, found.place_problem);
    const bool may_replace = request.fresh || replaces(found, layout);
    if (std::string why = file_refusal(found, layout, may_replace); !why.empty())
        return refuse(Cause::File, std::move(why));
    if (found.file.state == ResultState::Complete && !may_replace)
        return {Verdict::Complete, Cause::None, complete_text(found.result)};
    const auto if_other = request.fresh ? PartFolder::IfOther::Discard : PartFolder::IfOther::Refuse;
    if (found.owner)
        if (std::string why = part_refusal(*found.owner, found.parts, found.result, layout, if_other);
            !why.empty())
            return refuse(Cause::Parts, std::move(why));
    if (std::string why = room_refusal(found, layout, request); !why.empty())
        return refuse(Cause::Room, std::move(why));
    const bool resumes = !request.fresh && !found.committed.empty();
    return {resumes ? Verdict::Resume : Verdict::Create, Cause::None, "", found.busy};
}

std::string complete_text(const fs::path& result) {
    return fmt::format("{} is complete already; --fresh computes it again", result.string());
}

Admission admit(const fs::path& result, const ResultLayout& layout, const AdmissionRequest& request) {
    return decide(look_at_result(result, request), layout, request);
}

ResultSource result_source(const fs::path& result) {
    const fs::path parts = parts_path(result);
    std::error_code error;
    const bool file = fs::exists(result, error);
    if (!fs::is_directory(parts, error)) return file ? ResultSource::File : ResultSource::None;
    if (!file) return ResultSource::Parts;
    try {
        const bool marked = fs::is_regular_file(parts / replaces_name, error);
        return marked && read_manifest(parts) ? ResultSource::Parts : ResultSource::File;
    } catch (const JobError&) {
        return ResultSource::File;
    }
}

}  // namespace voltpile
