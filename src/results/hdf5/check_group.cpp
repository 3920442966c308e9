#include "results/hdf5/check_group.h"

#include <fmt/format.h>
#include <hdf5_hl.h>

#include <span>

#include "results/hdf5/attribute.h"
#include "results/hdf5/content_checksum.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/group_io.h"

namespace voltpile {
namespace {

constexpr const char* kGroup = "check";
constexpr const char* kSample = "sample";  // the dimension, and the points along it
constexpr const char* kError = "_error";   // added to a field's name: the differences

std::string path_in_group(const std::string& name) {
    return fmt::format("{}/{}", kGroup, name);
}

void attach_scales(hid_t file, const Hdf5Dataset& dataset, const FieldSpec& field) {
    unsigned dimension = 0;
    const auto attach = [&](const std::string& name) {
        const Hdf5Dataset scale = open_dataset(file, name);
        hdf5_check_at(H5DSattach_scale(dataset.get(), scale.get(), dimension++), "write", file);
    };
    attach(path_in_group(kSample));
    for (const FieldDimension& along : field.dimensions) attach(along.name);
}

void write_checked_field(hid_t file, const CheckedField& summary, const CheckedValues& values) {
    std::vector<hsize_t> dims{values.reference.size() / values.field.values_per_point()};
    for (const FieldDimension& along : values.field.dimensions) dims.push_back(along.labels.size());
    const std::string name = path_in_group(values.field.name);
    const Hdf5Dataset reference = write_values(file, name, dims, std::span(values.reference));
    write_text(reference.get(), "units", values.field.unit);
    write_text(reference.get(), "long_name", "reference of " + values.field.name);
    attach_scales(file, reference, values.field);

    std::vector<double> errors(values.result.size());
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = values.result[i] - values.reference[i];
    const Hdf5Dataset error = write_values(file, name + kError, dims, std::span<const double>(errors));
    write_text(error.get(), "units", values.field.unit);
    write_text(error.get(), "long_name", values.field.name + " of the result less its reference");
    write_real(error.get(), "median", summary.median);
    write_real(error.get(), "percentile99", summary.percentile_99);
    write_real(error.get(), "largest", summary.largest);
    write_real(error.get(), "shareWithin", summary.share_within);
    attach_scales(file, error, values.field);
}

std::vector<std::string> paths_of(const Hdf5Group& group) {
    std::vector<std::string> paths{path_in_group(kSample)};
    for (const std::string& field : read_texts(group.get(), "fields")) {
        paths.push_back(path_in_group(field));
        paths.push_back(path_in_group(field + kError));
    }
    return paths;
}

}  // namespace

void write_check_group(hid_t file, const ResultCheck& check, const std::vector<std::int64_t>& sample,
                       const std::vector<CheckedValues>& checked) {
    const Hdf5Group group = create_group(file, kGroup);
    write_text(group.get(), "method", check.method);
    write_text(group.get(), "fingerprint", check.fingerprint);
    write_integer(group.get(), "seed", check.seed);
    write_real(group.get(), "within", check.within);
    std::vector<std::string> names;
    for (const CheckedValues& values : checked) names.push_back(values.field.name);
    write_texts(group.get(), "fields", names);

    const Hdf5Dataset scale = write_values(file, path_in_group(kSample), {sample.size()}, std::span(sample));
    hdf5_check_at(H5DSset_scale(scale.get(), kSample), "write", file);
    write_text(scale.get(), "units", "1");
    write_text(scale.get(), "long_name", "point of the flattened sweep");
    for (std::size_t i = 0; i < checked.size(); ++i) write_checked_field(file, check.fields[i], checked[i]);
    write_content_checksum(group.get());
}

std::optional<ResultCheck> read_check_group(hid_t file) {
    const std::optional<Hdf5Group> found = open_group(file, kGroup);
    if (!found) return std::nullopt;
    const Hdf5Group& group = *found;
    ResultCheck check;
    check.method = read_text(group.get(), "method");
    check.fingerprint = read_text(group.get(), "fingerprint");
    check.seed = read_integer(group.get(), "seed");
    check.within = read_real(group.get(), "within");
    check.points =
        static_cast<std::int64_t>(dataset_dims(open_dataset(file, path_in_group(kSample)).get()).at(0));
    for (const std::string& name : read_texts(group.get(), "fields")) {
        const Hdf5Dataset error = open_dataset(file, path_in_group(name + kError));
        check.fields.push_back({name, read_text(error.get(), "units"), read_real(error.get(), "median"),
                                read_real(error.get(), "percentile99"), read_real(error.get(), "largest"),
                                read_real(error.get(), "shareWithin")});
    }
    return check;
}

std::vector<Damage> damaged_check_values(hid_t file) {
    try {
        const std::optional<Hdf5Group> group = open_group(file, kGroup);
        return group ? damaged_datasets(file, paths_of(*group)) : std::vector<Damage>{};
    } catch (const FileError& problem) {
        return {{kGroup, {}, problem.what()}};
    }
}

}  // namespace voltpile
