#include "results/parts/part_listing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/build_info.h"
#include "results/hdf5/attribute.h"
#include "results/hdf5/content_checksum.h"
#include "results/hdf5/image.h"
#include "results/hdf5/layout_file.h"
#include "results/parts/durable_file.h"
#include "results/parts/lives_journal.h"
#include "results/parts/lock_file.h"
#include "results/parts/part_file.h"
#include "results/telemetry.h"

namespace voltpile {

std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> entries;
    std::error_code error;
    std::filesystem::directory_iterator it(folder, error);
    for (; !error && it != std::filesystem::directory_iterator(); it.increment(error))
        entries.push_back(it->path());
    if (error) throw FileError("list", folder.string(), error.value());
    // Comparing paths part by part takes seconds for 100,000 of them; these differ in their last part only.
    std::ranges::sort(entries, {},
                      [](const std::filesystem::path& path) -> const std::string& { return path.native(); });
    return entries;
}

bool is_part(const std::filesystem::path& path) {
    return path.filename().string().starts_with("part-") && path.extension() == ".h5";
}

bool is_rejected(const std::filesystem::path& path) {
    return path.filename().string().starts_with("part-") && path.extension() == ".rejected";
}

bool is_probe(const std::filesystem::path& path) {
    return path.filename().string().starts_with(probe_prefix);
}

bool is_record(const std::filesystem::path& path) {
    const std::string name = path.filename();
    return parse_lock_name(name) || name == result_lock_name || is_journal_name(name);
}

bool is_life(const std::filesystem::path& path) {
    return LifeName::parse(path.filename().string()).has_value();
}

bool is_ours(const std::filesystem::path& path) {
    const std::filesystem::path name = path.filename();
    return is_part(path) || is_rejected(path) || is_probe(path) || is_record(path) || is_life(path) ||
           is_telemetry(path) || name == manifest_name || name == replaces_name;
}

std::optional<ResultLayout> read_manifest(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder / manifest_name;
    std::error_code error;
    // A run that finishes may remove it at any moment.
    const auto is_gone = [&] {
        return !std::filesystem::exists(std::filesystem::symlink_status(path, error));
    };
    if (!std::filesystem::is_regular_file(path, error)) {
        if (is_gone()) return std::nullopt;
        throw JobError(path.string() + " is not a regular file; remove it, or choose another --output");
    }
    Hdf5Guard guard;
    try {
        Hdf5File file = open_hdf5(path.string());
        if (read_provenance(file.get()).software != software_name) throw FileError("not written by voltpile");
        if (const std::int64_t format = read_result_format(file.get()); format > result_format)
            throw JobError(fmt::format(
                "{} was written by a newer version of voltpile (format {}, and this program reads "
                "formats up to {}): use that version, or choose another --output",
                folder.string(), format, result_format));
        return read_layout(file.get());
    } catch (const FileError& problem) {
        if (is_gone()) return std::nullopt;
        throw JobError(folder.string() + ": cannot check whether this folder belongs to the job: " +
                       problem.what() + "; if it is of no use, remove it");
    }
}

Provenance read_manifest_provenance(const std::filesystem::path& folder) {
    Hdf5Guard guard;
    return read_provenance(open_hdf5((folder / manifest_name).string()).get());
}

bool write_manifest(const Life& life, const ResultLayout& layout, bool keep) {
    const std::filesystem::path path = life.parts / manifest_name;
    std::vector<std::byte> bytes;
    {
        Hdf5Guard guard;
        Hdf5Image image(path.string(), layout.job_text.size());
        write_layout(image.file(), layout);
        write_text(image.file(), "softwareVersion", build_info().version);
        write_content_checksum(image.file());
        bytes = image.finish();
    }
    if (keep) return create_in(life, path, bytes);
    write_in(life, path, bytes);
    return true;
}

std::vector<PartInfo> list_parts(const std::filesystem::path& folder, const ResultLayout& layout) {
    std::vector<PartInfo> parts;
    RangeSet covered;
    for (const std::filesystem::path& path : list_folder(folder)) {
        if (!is_part(path) || !std::filesystem::is_regular_file(path)) continue;
        Hdf5Guard guard;
        try {
            const WorkRange range = PartFile(path, layout).range();
            if (covered.overlaps(range)) continue;
            covered.insert(range);
            parts.push_back({path, range});
        } catch (const FileError&) {
            // The next run reports it and renames it.
        }
    }
    std::sort(parts.begin(), parts.end(),
              [](const PartInfo& a, const PartInfo& b) { return a.range.begin < b.range.begin; });
    return parts;
}

}  // namespace voltpile
