#include "results/hdf5/result_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "results/hdf5/attribute.h"
#include "results/hdf5/checksum.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/layout_file.h"
#include "results/hdf5/rows_io.h"
#include "results/rows.h"

namespace voltpile {
namespace {

constexpr const char* values_name = "crc32";
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

// The values as the checksum takes them: numbers as they are stored, rows as stored_rows() has them.
std::uint32_t values_checksum(hid_t dataset, const FieldSpec& field, WorkRange whole) {
    const std::int64_t block = points_per_block(field);
    std::uint32_t crc = 0;
    std::vector<std::byte> bytes;
    for (std::int64_t at = whole.begin; at < whole.end; at += block) {
        const WorkRange piece{at, std::min(at + block, whole.end)};
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

void check_dataset(hid_t file, const FieldSpec& field, WorkRange whole) {
    const Hdf5Dataset dataset = open_dataset(file, field.name);
    const std::uint32_t crc = values_checksum(dataset.get(), field, whole);
    if (has_attribute(dataset.get(), values_name) && read_integer(dataset.get(), values_name) != crc)
        throw FileError("the values of " + field.name + " do not match their checksum");
}

}  // namespace

ResultLayout read_checked_layout(hid_t file) {
    ResultLayout layout = read_layout(file);
    std::vector<hsize_t> points;
    for (const SweepAxis& axis : layout.axes) {
        check_extents(file, axis.name, {static_cast<hsize_t>(axis.count)});
        points.insert(points.begin(), static_cast<hsize_t>(axis.count));
    }
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

std::vector<std::string> damaged_values(hid_t file, const ResultLayout& layout) {
    std::vector<std::string> problems;
    const auto check = [&](const FieldSpec& field, WorkRange whole) {
        try {
            check_dataset(file, field, whole);
        } catch (const FileError& problem) {
            problems.emplace_back(problem.what());
        }
    };
    for (const SweepAxis& axis : layout.axes) {
        FieldSpec coordinate;
        coordinate.name = axis.name;
        check(coordinate, {0, axis.count});
    }
    for (const FieldSpec& field : layout.fields) check(field, layout.whole());
    return problems;
}

bool has_checksums(hid_t file) {
    return has_attribute(file, header_name);
}

void write_checksum(hid_t dataset, std::uint32_t crc) {
    write_integer(dataset, values_name, crc);
}

void write_header_checksum(hid_t file) {
    write_integer(file, header_name, header_checksum(file));
}

}  // namespace voltpile
