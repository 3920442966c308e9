#include "results/hdf5/result_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "results/hdf5/attribute.h"
#include "results/hdf5/checksum.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/layout_file.h"
#include "results/hdf5/rows_io.h"
#include "results/rows.h"
#include "work/range_set.h"

namespace voltpile {
namespace {

constexpr const char* values_name = "crc32";
constexpr const char* blocks_name = "crc32Blocks";
constexpr const char* block_points_name = "crc32BlockPoints";
constexpr const char* header_name = "headerCrc32";

void check_extents(hid_t file, const std::string& name, const std::vector<hsize_t>& expected) {
    const Hdf5Dataset dataset = open_dataset(file, name);
    if (const std::vector<hsize_t> dims = dataset_dims(dataset.get()); dims != expected)
        throw FileError(fmt::format("{} has the extents ({}), not ({})", name, fmt::join(dims, ", "),
                                    fmt::join(expected, ", ")));
    H5D_space_status_t status{};
    hdf5_check_at(H5Dget_space_status(dataset.get(), &status), "read " + name + " of", file);
    if (status == H5D_SPACE_STATUS_NOT_ALLOCATED) throw FileError(name + " has no values");
}

// Everything that the header says, in one text. Its checksum covers what HDF5 keeps without checksums: texts
// of variable length.
std::string header_text(hid_t file) {
    const ResultLayout layout = read_layout(file);
    const Provenance made = read_provenance(file);
    std::string text;
    const auto add = [&](const auto& value) { text += fmt::format("{}\n", value); };
    for (const std::string* each : {&made.software, &made.software_version, &made.git_revision, &made.date,
                                    &made.machine, &made.author, &made.command_line, &made.batch_job,
                                    &layout.app, &layout.fingerprint, &layout.job_path, &layout.job_text})
        add(*each);
    add(made.lives);
    add(made.restart_count);
    for (const std::string& each : layout.job_overrides) add(each);
    for (const JobInput& input : layout.inputs) text += input.name + "\n" + input.fingerprint + "\n";
    for (const SweepAxis& axis : layout.axes)
        text += fmt::format("{}\n{}\n{}\n{}\n{} {} {} {} {}\n", axis.name, axis.parameter, axis.key,
                            axis.unit, axis.element, axis.count, axis.from, axis.to, axis.endpoint);
    for (const FrameChange& change : layout.frame_changes) add(change_text(change));
    for (const FieldSpec& field : layout.fields) {
        text += field.name + "\n" + field.unit + "\n" + field.long_name + "\n";
        if (field.plot_from) add(*field.plot_from);
        for (const std::string& label : field.labels) add(label);
        for (const FieldDimension& dimension : field.dimensions)
            text += fmt::format("{}\n{}\n", dimension.name, fmt::join(dimension.labels, "\n"));
    }
    return text;
}

std::uint32_t header_checksum(hid_t file) {
    const std::string text = header_text(file);
    return crc32_of(std::as_bytes(std::span(text)));
}

// The checksum of the values, as it takes them: numbers as they are stored, rows as stored_rows() has them.
std::uint32_t values_checksum(hid_t dataset, const FieldSpec& field, WorkRange range) {
    const std::int64_t block = points_per_block(field);
    std::uint32_t crc = 0;
    std::vector<std::byte> bytes;
    for (std::int64_t at = range.begin; at < range.end; at += block) {
        const WorkRange piece{at, std::min(at + block, range.end)};
        if (field.variable()) {
            bytes = stored_rows(field, read_rows(dataset, field, piece), piece.size());
        } else {
            bytes.resize(static_cast<std::size_t>(piece.size()) * field.bytes_per_point());
            read_points(dataset, field, piece, memory_type(field.type), bytes.data());
        }
        crc = crc32_of(bytes, crc);
    }
    return crc;
}

// What the attributes of a dataset say of its checksums.
struct StoredChecksums {
    std::optional<std::int64_t> whole;
    std::int64_t points_per_block = 1;
    std::vector<std::uint32_t> blocks;  // empty: only that of the whole
};

StoredChecksums read_checksums(hid_t dataset, const std::string& name, std::int64_t points) {
    StoredChecksums stored;
    stored.points_per_block = std::max<std::int64_t>(points, 1);
    if (has_attribute(dataset, values_name)) stored.whole = read_integer(dataset, values_name);
    if (!has_attribute(dataset, blocks_name)) return stored;
    stored.blocks = read_unsigned_integers(dataset, blocks_name);
    stored.points_per_block = read_integer(dataset, block_points_name);
    const std::int64_t per_block = stored.points_per_block;
    if (per_block < 1 || (points - 1) / per_block + 1 != std::ssize(stored.blocks))
        throw FileError(fmt::format("{} of {} does not fit its {}", blocks_name, name, points_text(points)));
    return stored;
}

// Without a checksum, reading the block must succeed.
bool block_is_intact(hid_t dataset, const FieldSpec& field, WorkRange block,
                     std::optional<std::int64_t> expected) {
    const std::uint32_t crc = values_checksum(dataset, field, block);
    return !expected || *expected == crc;
}

}  // namespace

// Reads block by block, so that the blocks beside a damaged one are known to be intact.
std::vector<Damage> damaged_field(hid_t file, const FieldSpec& field, WorkRange whole) {
    std::vector<Damage> damage;
    RangeSet mismatched;
    try {
        const Hdf5Dataset dataset = open_dataset(file, field.name);
        const StoredChecksums stored = read_checksums(dataset.get(), field.name, whole.size());
        std::size_t number = 0;
        for (std::int64_t at = 0; at < whole.end; at += stored.points_per_block, ++number) {
            const WorkRange block{at, std::min(at + stored.points_per_block, whole.end)};
            const auto expected = stored.blocks.empty() ? stored.whole : stored.blocks[number];
            try {
                if (!block_is_intact(dataset.get(), field, block, expected)) mismatched.insert(block);
            } catch (const FileError& problem) {
                damage.push_back(
                    {field.name, block, fmt::format("{} ({})", problem.what(), points_span_text(block))});
            }
        }
    } catch (const FileError& problem) {
        damage.push_back({field.name, whole, problem.what()});
    }
    for (const WorkRange& range : mismatched.ranges())
        damage.push_back({field.name, range,
                          fmt::format("the values of {} do not match their checksum ({})", field.name,
                                      points_span_text(range))});
    return damage;
}

ResultLayout read_checked_layout(hid_t file) {
    ResultLayout layout = read_layout(file);
    std::vector<hsize_t> points;
    for (const SweepAxis& axis : layout.axes) {
        check_extents(file, axis.name, {static_cast<hsize_t>(axis.count)});
        points.insert(points.begin(), static_cast<hsize_t>(axis.count));
    }
    for (const FrameTrack& track : layout.frame_tracks())
        check_extents(file, track.name, {track.values.size()});
    for (const FieldSpec& field : layout.fields) {
        std::vector<hsize_t> dims = points;
        for (const FieldDimension& dimension : field.dimensions) dims.push_back(dimension.labels.size());
        check_extents(file, field.name, dims);
    }
    if (layout.fields.empty()) throw FileError("it has no fields");
    if (has_checksums(file) && read_integer(file, header_name) != header_checksum(file))
        throw FileError("its attributes do not match their checksum");
    return layout;
}

std::vector<Damage> damaged_axes(hid_t file, const ResultLayout& layout) {
    std::vector<Damage> damage;
    const auto check = [&](const std::string& name, std::int64_t count) {
        FieldSpec coordinate;
        coordinate.name = name;
        for (Damage& each : damaged_field(file, coordinate, {0, count})) {
            each.points = {};  // an axis has values of its own, which its attributes define
            damage.push_back(std::move(each));
        }
    };
    for (const SweepAxis& axis : layout.axes) check(axis.name, axis.count);
    for (const FrameTrack& track : layout.frame_tracks()) check(track.name, std::ssize(track.values));
    return damage;
}

bool has_checksums(hid_t file) {
    return has_attribute(file, header_name);
}

void write_checksum(hid_t dataset, std::uint32_t crc) {
    write_integer(dataset, values_name, crc);
}

void write_checksums(hid_t dataset, const BlockCrc32& checksums) {
    write_checksum(dataset, checksums.value());
    const std::vector<std::uint32_t> blocks = checksums.block_values();
    if (blocks.size() < 2) return;
    write_unsigned_integers(dataset, blocks_name, blocks);
    write_integer(dataset, block_points_name, checksums.points_per_block());
}

void write_header_checksum(hid_t file) {
    write_integer(file, header_name, header_checksum(file));
}

}  // namespace voltpile
