#include "results/number_datasets.h"

#include <fmt/format.h>

#include "base/error.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/handle.h"

namespace voltpile {
namespace {

std::vector<std::string> root_names(hid_t file) {
    std::vector<std::string> names;
    const auto add = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
        static_cast<std::vector<std::string>*>(to)->emplace_back(name);
        return 0;
    };
    hdf5_check_at(H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names), "read", file);
    return names;
}

bool is_dataset(hid_t file, const std::string& name) {
    H5O_info_t info;
    if (H5Oget_info_by_name(file, name.c_str(), &info, H5P_DEFAULT) < 0) return false;  // a dangling link
    return info.type == H5O_TYPE_DATASET;
}

bool holds_numbers(hid_t dataset) {
    const Hdf5Type type(hdf5_check_at(H5Dget_type(dataset), "read", dataset));
    const H5T_class_t kind = H5Tget_class(type.get());
    return kind == H5T_FLOAT || kind == H5T_INTEGER;
}

}  // namespace

std::vector<NumberDataset> read_number_datasets(const std::string& path, std::uint64_t most_bytes) {
    try {
        const Hdf5Guard guard;
        const Hdf5File file = open_hdf5(path);
        std::vector<NumberDataset> datasets;
        std::uint64_t bytes = 0;
        for (const std::string& name : root_names(file.get())) {
            if (!is_dataset(file.get(), name)) continue;
            const Hdf5Dataset dataset = open_dataset(file.get(), name);
            if (!holds_numbers(dataset.get())) continue;
            NumberDataset read{name, {}, {}};
            std::uint64_t count = 1;
            for (const hsize_t size : dataset_dims(dataset.get())) {
                read.dimensions.push_back(size);
                if (size > 0 && count > most_bytes / sizeof(double) / size)
                    throw JobError(fmt::format("{}: {} holds more than {} bytes", path, name, most_bytes));
                count *= size;
            }
            bytes += count * sizeof(double);
            if (bytes > most_bytes)
                throw JobError(fmt::format("{} holds more than {} bytes", path, most_bytes));
            read.values.resize(count);
            hdf5_check(
                H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.values.data()),
                "read", path);
            datasets.push_back(std::move(read));
        }
        return datasets;
    } catch (const FileError& error) {
        throw JobError(error.what());
    }
}

}  // namespace voltpile
