#include "results/hdf5/group_io.h"

#include <fmt/format.h>

#include <functional>
#include <numeric>
#include <utility>

#include "results/hdf5/attribute.h"
#include "results/hdf5/checksum.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/result_check.h"

namespace voltpile {
namespace {

constexpr unsigned kTrackedOrder = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;  // netCDF needs it

Hdf5Dataset create_in_group(hid_t file, const std::string& path, hid_t type,
                            const std::vector<hsize_t>& dims) {
    const std::string action = "write " + path + " of";
    const Hdf5Space space(
        hdf5_check_at(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), action, file));
    const Hdf5Properties creation(hdf5_check_at(H5Pcreate(H5P_DATASET_CREATE), action, file));
    hdf5_check_at(H5Pset_attr_creation_order(creation.get(), kTrackedOrder), action, file);
    hdf5_check_at(H5Pset_obj_track_times(creation.get(), false), action, file);
    return Hdf5Dataset(hdf5_check_at(
        H5Dcreate2(file, path.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), action,
        file));
}

void write_whole(const Hdf5Dataset& dataset, const std::string& path, hid_t type, const void* values) {
    hdf5_check_at(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
                  "write " + path + " of", dataset.get());
}

template <class T>
Hdf5Dataset write_checked(hid_t file, const std::string& path, hid_t type, const std::vector<hsize_t>& dims,
                          std::span<const T> values) {
    Hdf5Dataset dataset = create_in_group(file, path, type, dims);
    write_whole(dataset, path, type, values.data());
    write_checksum(dataset.get(), crc32_of(std::as_bytes(values)));
    return dataset;
}

std::size_t values_of(const Hdf5Dataset& dataset) {
    const std::vector<hsize_t> dims = dataset_dims(dataset.get());
    return std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
}

// Of the values in the form in which the file has them.
std::uint32_t checksum_of_values(const Hdf5Dataset& dataset, const std::string& path) {
    const std::string action = "read " + path + " of";
    const Hdf5Type stored(hdf5_check_at(H5Dget_type(dataset.get()), action, dataset.get()));
    if (const H5T_class_t kind = H5Tget_class(stored.get()); kind != H5T_INTEGER && kind != H5T_FLOAT)
        throw FileError(path + " does not hold numbers");
    const Hdf5Type native(
        hdf5_check_at(H5Tget_native_type(stored.get(), H5T_DIR_ASCEND), action, dataset.get()));
    std::vector<std::byte> values(values_of(dataset) * H5Tget_size(native.get()));
    hdf5_check_at(H5Dread(dataset.get(), native.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), action,
                  dataset.get());
    return crc32_of(values);
}

}  // namespace

Hdf5Group create_group(hid_t file, const std::string& name) {
    const std::string action = "write " + name + " of";
    if (H5Lexists(file, name.c_str(), H5P_DEFAULT) > 0)
        hdf5_check_at(H5Ldelete(file, name.c_str(), H5P_DEFAULT), action, file);
    const Hdf5Properties creation(hdf5_check_at(H5Pcreate(H5P_GROUP_CREATE), action, file));
    hdf5_check_at(H5Pset_link_creation_order(creation.get(), kTrackedOrder), action, file);
    hdf5_check_at(H5Pset_attr_creation_order(creation.get(), kTrackedOrder), action, file);
    return Hdf5Group(hdf5_check_at(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                                   action, file));
}

std::optional<Hdf5Group> open_group(hid_t file, const std::string& name) {
    if (hdf5_check_at(H5Lexists(file, name.c_str(), H5P_DEFAULT), "read " + name + " of", file) == 0)
        return std::nullopt;
    return Hdf5Group(hdf5_check_at(H5Gopen2(file, name.c_str(), H5P_DEFAULT), "read " + name + " of", file));
}

Hdf5Dataset write_values(hid_t file, const std::string& path, const std::vector<hsize_t>& dims,
                         std::span<const double> values) {
    return write_checked(file, path, H5T_NATIVE_DOUBLE, dims, values);
}

Hdf5Dataset write_values(hid_t file, const std::string& path, const std::vector<hsize_t>& dims,
                         std::span<const std::int64_t> values) {
    return write_checked(file, path, H5T_NATIVE_INT64, dims, values);
}

Hdf5Dataset write_texts_dataset(hid_t file, const std::string& path, const std::vector<std::string>& texts) {
    const Hdf5Type type = text_type();
    Hdf5Dataset dataset = create_in_group(file, path, type.get(), {texts.size()});
    std::vector<const char*> values;
    for (const std::string& text : texts) values.push_back(text.c_str());
    write_whole(dataset, path, type.get(), values.data());
    return dataset;
}

std::vector<double> read_reals(hid_t file, const std::string& path) {
    const Hdf5Dataset dataset = open_dataset(file, path);
    std::vector<double> values(values_of(dataset));
    hdf5_check_at(H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                  "read " + path + " of", file);
    return values;
}

std::vector<std::string> names_in_group(hid_t group) {
    H5G_info_t info;
    hdf5_check_at(H5Gget_info(group, &info), "read", group);
    std::vector<std::string> names;
    for (hsize_t i = 0; i < info.nlinks; ++i) {
        const auto name = [&](char* to, std::size_t size) {
            return hdf5_check_at(
                H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, to, size, H5P_DEFAULT), "read",
                group);
        };
        std::string text(static_cast<std::size_t>(name(nullptr, 0)), '\0');
        name(text.data(), text.size() + 1);
        names.push_back(std::move(text));
    }
    return names;
}

std::vector<Damage> damaged_datasets(hid_t file, const std::vector<std::string>& paths) {
    std::vector<Damage> damage;
    for (const std::string& path : paths) try {
            const Hdf5Dataset dataset = open_dataset(file, path);
            if (read_integer(dataset.get(), "crc32") != checksum_of_values(dataset, path))
                damage.push_back(
                    {path, {}, fmt::format("the values of {} do not match their checksum", path)});
        } catch (const FileError& problem) {
            damage.push_back({path, {}, problem.what()});
        }
    return damage;
}

}  // namespace voltpile
