#include "results/hdf5/layout_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <sstream>

#include "results/hdf5/attribute.h"
#include "results/hdf5/checksum.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/result_check.h"
#include "results/hdf5/rows_io.h"

namespace voltpile {
namespace {

constexpr const char* format_name = "resultFormat";

Hdf5Space simple_space(hid_t file, const std::vector<hsize_t>& dims) {
    if (dims.empty()) return Hdf5Space(hdf5_check_at(H5Screate(H5S_SCALAR), "write", file));
    return Hdf5Space(
        hdf5_check_at(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), "write", file));
}

Hdf5Dataset create_dataset(hid_t file, const std::string& name, hid_t type,
                           const std::vector<hsize_t>& dims) {
    Hdf5Properties creation(hdf5_check_at(H5Pcreate(H5P_DATASET_CREATE), "write", file));
    hdf5_check_at(H5Pset_attr_creation_order(creation.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
                  "write", file);
    // Equal content gives equal bytes, at any time.
    hdf5_check_at(H5Pset_obj_track_times(creation.get(), false), "write", file);
    return Hdf5Dataset(hdf5_check_at(H5Dcreate2(file, name.c_str(), type, simple_space(file, dims).get(),
                                                H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                                     "write", file));
}

void make_scale(const Hdf5Dataset& dataset, const std::string& name) {
    hdf5_check_at(H5DSset_scale(dataset.get(), name.c_str()), "write", dataset.get());
}

void write_axis(hid_t file, const SweepAxis& axis) {
    Hdf5Dataset scale =
        create_dataset(file, axis.name, H5T_NATIVE_DOUBLE, {static_cast<hsize_t>(axis.count)});
    make_scale(scale, axis.name);
    write_text(scale.get(), "units", axis.unit);
    write_text(scale.get(), "long_name", axis.parameter);
    if (!axis.frames.empty())
        write_text(
            scale.get(), "comment",
            fmt::format("place in the range of each frame: {0}_from + ({0}_to - {0}_from) * {0}", axis.name));
    write_text(scale.get(), "key", axis.key);
    write_integer(scale.get(), "element", axis.element);
    write_real(scale.get(), "from", axis.from);
    write_real(scale.get(), "to", axis.to);
    write_flag(scale.get(), "endpoint", axis.endpoint);
}

constexpr const char* changes_name = "frameChanges";
constexpr const char* refinement_name = "refinement";

// Makes the numbers of the frames coordinates of the fields, as the CF conventions have it.
void write_tracks(hid_t file, const ResultLayout& layout) {
    std::vector<std::string> texts, names;
    for (const FrameChange& change : layout.frame_changes) texts.push_back(change_text(change));
    write_texts(file, changes_name, texts);
    Hdf5Dataset scale = open_dataset(file, frame_axis_name);
    for (const FrameTrack& track : layout.frame_tracks()) {
        const Hdf5Dataset dataset =
            create_dataset(file, track.name, H5T_NATIVE_DOUBLE, {track.values.size()});
        write_text(dataset.get(), "units", track.unit);
        write_text(dataset.get(), "long_name", track.long_name);
        hdf5_check_at(H5DSattach_scale(dataset.get(), scale.get(), 0), "write", file);
        names.push_back(track.name);
    }
    for (const FieldSpec& field : layout.fields)
        write_text(open_dataset(file, field.name).get(), "coordinates",
                   fmt::format("{}", fmt::join(names, " ")));
}

void read_changes(hid_t file, ResultLayout& layout) {
    if (!has_attribute(file, changes_name)) return;
    for (const std::string& text : read_texts(file, changes_name)) {
        const auto change = parse_change(text);
        if (!change) throw hdf5_error_at("read the frames of", file);
        layout.frame_changes.push_back(*change);
    }
    set_frames(layout.axes, layout.frame_changes);
}

SweepAxis read_axis(hid_t file, const std::string& name) {
    Hdf5Dataset scale = open_dataset(file, name);
    SweepAxis axis;
    axis.name = name;
    axis.parameter = read_text(scale.get(), "long_name");
    axis.key = read_text(scale.get(), "key");
    axis.element = static_cast<int>(read_integer(scale.get(), "element"));
    axis.unit = read_text(scale.get(), "units");
    axis.from = read_real(scale.get(), "from");
    axis.to = read_real(scale.get(), "to");
    axis.endpoint = read_integer(scale.get(), "endpoint") != 0;
    const std::vector<hsize_t> dims = dataset_dims(scale.get());
    if (dims.size() != 1) throw hdf5_error_at("read the axis " + name + " of", file);
    axis.count = static_cast<std::int64_t>(dims[0]);
    return axis;
}

void write_labels(hid_t file, const FieldDimension& dimension) {
    Hdf5Type type = text_type();
    Hdf5Dataset scale = create_dataset(file, dimension.name, type.get(), {dimension.labels.size()});
    make_scale(scale, dimension.name);
    write_text(scale.get(), "long_name", dimension.name);
    std::vector<const char*> labels;
    for (const std::string& label : dimension.labels) labels.push_back(label.c_str());
    hdf5_check_at(H5Dwrite(scale.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, labels.data()), "write",
                  file);
}

// Returns the names of a dataset's scales in the order of its dimensions: slowest axis first, then the
// field's own.
std::vector<std::string> scale_names(const ResultLayout& layout, const FieldSpec& field) {
    std::vector<std::string> names;
    for (const SweepAxis& axis : layout.axes) names.insert(names.begin(), axis.name);
    for (const FieldDimension& dimension : field.dimensions) names.push_back(dimension.name);
    return names;
}

// Follows the CF conventions for flags.
void write_labels_of_values(const Hdf5Dataset& dataset, const FieldSpec& field) {
    if (field.labels.empty()) return;
    std::vector<int> values(field.labels.size());
    std::iota(values.begin(), values.end(), 0);
    write_integers(dataset.get(), "flag_values", values);
    write_text(dataset.get(), "flag_meanings", fmt::format("{}", fmt::join(field.labels, " ")));
}

std::vector<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

// Sets the shape and type of a field from its dataset.
void read_type(const Hdf5Dataset& dataset, FieldSpec& field) {
    const Hdf5Type type(hdf5_check_at(H5Dget_type(dataset.get()), "read", dataset.get()));
    switch (H5Tget_class(type.get())) {
        case H5T_STRING:
            field.shape = FieldShape::Text;
            return;
        case H5T_VLEN: {
            const Hdf5Type element(hdf5_check_at(H5Tget_super(type.get()), "read", dataset.get()));
            field.shape = FieldShape::List;
            field.type = field_type(element.get());
            return;
        }
        default:
            field.type = field_type(type.get());
    }
}

void write_field(hid_t file, const ResultLayout& layout, const FieldSpec& field) {
    std::vector<hsize_t> dims;
    for (const SweepAxis& axis : layout.axes) dims.insert(dims.begin(), static_cast<hsize_t>(axis.count));
    for (const FieldDimension& dimension : field.dimensions) dims.push_back(dimension.labels.size());
    Hdf5Dataset dataset = field.variable() ? create_dataset(file, field.name, rows_type(field).get(), dims)
                                           : create_dataset(file, field.name, memory_type(field.type), dims);
    write_text(dataset.get(), "units", field.unit);
    write_text(dataset.get(), "long_name", field.long_name);
    write_labels_of_values(dataset, field);
    if (field.plot_from) write_real(dataset.get(), "plot_from", *field.plot_from);
    unsigned dimension = 0;
    for (const std::string& name : scale_names(layout, field)) {
        Hdf5Dataset scale = open_dataset(file, name);
        hdf5_check_at(H5DSattach_scale(dataset.get(), scale.get(), dimension++), "write", file);
    }
}

herr_t keep_name(hid_t, unsigned, hid_t scale, void* name) {
    char text[1024] = "";
    if (H5Iget_name(scale, text, sizeof text) < 0) return -1;
    *static_cast<std::string*>(name) = text[0] == '/' ? text + 1 : text;
    return 1;  // stop at the first
}

FieldSpec read_field(hid_t file, const std::string& name, std::size_t axis_count) {
    Hdf5Dataset dataset = open_dataset(file, name);
    FieldSpec field;
    field.name = name;
    read_type(dataset, field);
    field.unit = read_text(dataset.get(), "units");
    field.long_name = read_text(dataset.get(), "long_name");
    if (has_attribute(dataset.get(), "plot_from")) field.plot_from = read_real(dataset.get(), "plot_from");
    if (has_attribute(dataset.get(), "flag_meanings"))
        field.labels = words(read_text(dataset.get(), "flag_meanings"));
    const std::size_t rank = dataset_dims(dataset.get()).size();
    for (std::size_t d = axis_count; d < rank; ++d) {
        FieldDimension dimension;
        const auto index = static_cast<unsigned>(d);
        hdf5_check_at(H5DSiterate_scales(dataset.get(), index, nullptr, keep_name, &dimension.name), "read",
                      file);
        dimension.labels = read_text_dataset(open_dataset(file, dimension.name).get());
        field.dimensions.push_back(std::move(dimension));
    }
    return field;
}

template <class Item>
std::vector<std::string> names_of(const std::vector<Item>& items) {
    std::vector<std::string> names;
    for (const Item& item : items) names.push_back(item.name);
    return names;
}

std::vector<std::string> fingerprints_of(const std::vector<JobInput>& inputs) {
    std::vector<std::string> fingerprints;
    for (const JobInput& input : inputs) fingerprints.push_back(input.fingerprint);
    return fingerprints;
}

std::vector<JobInput> read_inputs(hid_t file) {
    if (!has_attribute(file, "inputs")) return {};
    const std::vector<std::string> names = read_texts(file, "inputs");
    const std::vector<std::string> fingerprints = read_texts(file, "inputFingerprints");
    if (names.size() != fingerprints.size()) throw hdf5_error_at("read the inputs of", file);
    std::vector<JobInput> inputs;
    for (std::size_t i = 0; i < names.size(); ++i) inputs.push_back({names[i], fingerprints[i]});
    return inputs;
}

}  // namespace

void write_layout(hid_t file, const ResultLayout& layout) {
    write_text(file, "software", software_name);
    write_integer(file, format_name, result_format);
    write_flag(file, "complete", false);
    write_text(file, "app", layout.app);
    write_text(file, "fingerprint", layout.fingerprint);
    write_text(file, "jobFile", layout.job_text);
    write_text(file, "jobPath", layout.job_path);
    write_texts(file, "jobOverrides", layout.job_overrides);
    if (!layout.inputs.empty()) {
        write_texts(file, "inputs", names_of(layout.inputs));
        write_texts(file, "inputFingerprints", fingerprints_of(layout.inputs));
    }
    for (const auto& [name, text] : layout.notes) write_text(file, name, text);
    write_texts(file, "sweepAxes", names_of(layout.axes));
    write_texts(file, "fields", names_of(layout.fields));
    for (const SweepAxis& axis : layout.axes) write_axis(file, axis);
    for (const FieldSpec& field : layout.fields) {
        for (const FieldDimension& dimension : field.dimensions) {
            if (H5Lexists(file, dimension.name.c_str(), H5P_DEFAULT) <= 0) write_labels(file, dimension);
        }
    }
    for (const FieldSpec& field : layout.fields) write_field(file, layout, field);
    if (!layout.frame_changes.empty()) write_tracks(file, layout);
    if (layout.refinement) write_text(file, refinement_name, refinement_text(*layout.refinement));
}

std::int64_t read_result_format(hid_t file) {
    return has_attribute(file, format_name) ? read_integer(file, format_name) : 1;
}

ResultLayout read_layout(hid_t file) {
    ResultLayout layout;
    layout.app = read_text(file, "app");
    layout.fingerprint = read_text(file, "fingerprint");
    layout.job_text = read_text(file, "jobFile");
    layout.job_path = read_text(file, "jobPath");
    layout.job_overrides = read_texts(file, "jobOverrides");
    layout.inputs = read_inputs(file);
    for (const std::string& name : read_texts(file, "sweepAxes"))
        layout.axes.push_back(read_axis(file, name));
    read_changes(file, layout);
    if (has_attribute(file, refinement_name)) {
        layout.refinement = parse_refinement(read_text(file, refinement_name));
        if (!layout.refinement) throw hdf5_error_at("read the refinement of", file);
    }
    for (const std::string& name : read_texts(file, "fields")) {
        layout.fields.push_back(read_field(file, name, layout.axes.size()));
    }
    return layout;
}

void write_coordinates(hid_t file, const ResultLayout& layout) {
    FieldSpec coordinate;  // an axis is a field along itself
    for (const SweepAxis& axis : layout.axes) {
        Hdf5Dataset scale = open_dataset(file, axis.name);
        const std::int64_t block = points_per_block(coordinate);
        std::vector<double> values;
        std::uint32_t crc = 0;
        for (std::int64_t at = 0; at < axis.count; at += block) {
            const WorkRange range{at, std::min(at + block, axis.count)};
            values.clear();
            for (std::int64_t i = range.begin; i < range.end; ++i)
                values.push_back(axis.frames.empty() ? axis.value(i) : axis.part(i));
            write_points(scale.get(), coordinate, range, H5T_NATIVE_DOUBLE, values.data());
            crc = crc32_of(std::as_bytes(std::span(values)), crc);
        }
        write_checksum(scale.get(), crc);
    }
    for (const FrameTrack& track : layout.frame_tracks()) {
        const Hdf5Dataset dataset = open_dataset(file, track.name);
        const WorkRange frames{0, std::ssize(track.values)};
        write_points(dataset.get(), coordinate, frames, H5T_NATIVE_DOUBLE, track.values.data());
        write_checksum(dataset.get(), crc32_of(std::as_bytes(std::span(track.values))));
    }
}

void write_provenance(hid_t file, const Provenance& provenance) {
    write_text(file, "softwareVersion", provenance.software_version);
    write_text(file, "gitRevision", provenance.git_revision);
    write_text(file, "date", provenance.date);
    write_text(file, "machine", provenance.machine);
    write_text(file, "author", provenance.author);
    write_text(file, "commandLine", provenance.command_line);
    write_integer(file, "lives", provenance.lives);
    write_text(file, "batchJob", provenance.batch_job);
    write_integer(file, "restartCount", provenance.restart_count);
}

Provenance read_provenance(hid_t file) {
    auto text_or_empty = [&](const char* name) {
        return has_attribute(file, name) ? read_text(file, name) : "";
    };
    auto number_or_zero = [&](const char* name) {
        return has_attribute(file, name) ? read_integer(file, name) : 0;
    };
    Provenance provenance;
    provenance.software = text_or_empty("software");
    provenance.software_version = text_or_empty("softwareVersion");
    provenance.git_revision = text_or_empty("gitRevision");
    provenance.date = text_or_empty("date");
    provenance.machine = text_or_empty("machine");
    provenance.author = text_or_empty("author");
    provenance.command_line = text_or_empty("commandLine");
    provenance.lives = number_or_zero("lives");
    provenance.batch_job = text_or_empty("batchJob");
    provenance.restart_count = static_cast<int>(number_or_zero("restartCount"));
    return provenance;
}

}  // namespace voltpile
