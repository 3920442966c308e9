#include "results/hdf5/check_group.h"

#include <fmt/format.h>
#include <hdf5_hl.h>

#include <span>

#include "results/hdf5/attribute.h"
#include "results/hdf5/checksum.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/result_check.h"

namespace voltpile {
namespace {

using Hdf5Group = Hdf5Handle<H5Gclose>;

constexpr const char* kGroup = "check";
constexpr const char* kSample = "sample";  // the dimension, and the points along it
constexpr const char* kError = "_error";   // added to a field's name: the differences

std::string path_in_group(const std::string& name) {
    return fmt::format("{}/{}", kGroup, name);
}

template <class T>
Hdf5Dataset write_values(hid_t file, const std::string& name, hid_t type, const std::vector<hsize_t>& dims,
                         const std::vector<T>& values) {
    const std::string action = "write " + name + " of";
    const Hdf5Space space(
        hdf5_check_at(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), action, file));
    Hdf5Properties creation(hdf5_check_at(H5Pcreate(H5P_DATASET_CREATE), action, file));
    // netCDF needs the order of attributes.
    hdf5_check_at(H5Pset_attr_creation_order(creation.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
                  action, file);
    hdf5_check_at(H5Pset_obj_track_times(creation.get(), false), action, file);
    Hdf5Dataset dataset(hdf5_check_at(
        H5Dcreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), action,
        file));
    hdf5_check_at(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), action, file);
    write_checksum(dataset.get(), crc32_of(std::as_bytes(std::span(values))));
    return dataset;
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
    const Hdf5Dataset reference = write_values(file, name, H5T_NATIVE_DOUBLE, dims, values.reference);
    write_text(reference.get(), "units", values.field.unit);
    write_text(reference.get(), "long_name", "reference of " + values.field.name);
    attach_scales(file, reference, values.field);

    std::vector<double> errors(values.result.size());
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = values.result[i] - values.reference[i];
    const Hdf5Dataset error = write_values(file, name + kError, H5T_NATIVE_DOUBLE, dims, errors);
    write_text(error.get(), "units", values.field.unit);
    write_text(error.get(), "long_name", values.field.name + " of the result less its reference");
    write_real(error.get(), "median", summary.median);
    write_real(error.get(), "percentile99", summary.percentile_99);
    write_real(error.get(), "largest", summary.largest);
    write_real(error.get(), "shareWithin", summary.share_within);
    attach_scales(file, error, values.field);
}

Hdf5Group open_check(hid_t file) {
    return Hdf5Group(hdf5_check_at(H5Gopen2(file, kGroup, H5P_DEFAULT), "read check of", file));
}

std::vector<std::string> datasets_of(hid_t file) {
    std::vector<std::string> names{kSample};
    for (const std::string& field : read_texts(open_check(file).get(), "fields")) {
        names.push_back(field);
        names.push_back(field + kError);
    }
    return names;
}

}  // namespace

void write_check_group(hid_t file, const ResultCheck& check, const std::vector<std::int64_t>& sample,
                       const std::vector<CheckedValues>& checked) {
    if (H5Lexists(file, kGroup, H5P_DEFAULT) > 0)
        hdf5_check_at(H5Ldelete(file, kGroup, H5P_DEFAULT), "write check of", file);
    Hdf5Properties creation(hdf5_check_at(H5Pcreate(H5P_GROUP_CREATE), "write check of", file));
    constexpr unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;  // netCDF needs it
    hdf5_check_at(H5Pset_link_creation_order(creation.get(), order), "write check of", file);
    hdf5_check_at(H5Pset_attr_creation_order(creation.get(), order), "write check of", file);
    const Hdf5Group group(hdf5_check_at(H5Gcreate2(file, kGroup, H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                                        "write check of", file));
    write_text(group.get(), "method", check.method);
    write_text(group.get(), "fingerprint", check.fingerprint);
    write_integer(group.get(), "seed", check.seed);
    write_real(group.get(), "within", check.within);
    std::vector<std::string> names;
    for (const CheckedValues& values : checked) names.push_back(values.field.name);
    write_texts(group.get(), "fields", names);

    const Hdf5Dataset scale =
        write_values(file, path_in_group(kSample), H5T_NATIVE_INT64, {sample.size()}, sample);
    hdf5_check_at(H5DSset_scale(scale.get(), kSample), "write", file);
    write_text(scale.get(), "units", "1");
    write_text(scale.get(), "long_name", "point of the flattened sweep");
    for (std::size_t i = 0; i < checked.size(); ++i) write_checked_field(file, check.fields[i], checked[i]);
}

std::optional<ResultCheck> read_check_group(hid_t file) {
    if (H5Lexists(file, kGroup, H5P_DEFAULT) <= 0) return std::nullopt;
    const Hdf5Group group = open_check(file);
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

std::vector<std::string> damaged_check_values(hid_t file) {
    std::vector<std::string> problems;
    if (H5Lexists(file, kGroup, H5P_DEFAULT) <= 0) return problems;
    try {
        for (const std::string& name : datasets_of(file)) {
            const Hdf5Dataset dataset = open_dataset(file, path_in_group(name));
            std::size_t count = 1;
            for (const hsize_t extent : dataset_dims(dataset.get())) count *= extent;
            std::vector<double> bytes(count);  // points are as long as doubles
            hdf5_check_at(H5Dread(dataset.get(), name == kSample ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE,
                                  H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()),
                          "read " + name + " of", file);
            if (read_integer(dataset.get(), "crc32") != crc32_of(std::as_bytes(std::span(bytes))))
                problems.push_back(
                    fmt::format("the values of {} do not match their checksum", path_in_group(name)));
        }
    } catch (const FileError& problem) {
        problems.emplace_back(problem.what());
    }
    return problems;
}

}  // namespace voltpile
