#include "results/hdf5/field_io.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "results/hdf5/hyperslab.h"

namespace voltpile {
namespace {

// Calls transfer(memory space, file space, index of the first value) for each box of the range.
template <class Transfer>
void for_each_box(hid_t dataset, const FieldSpec& field, WorkRange range, Transfer transfer) {
    if (range.empty()) return;
    Hdf5Space space(hdf5_check_at(H5Dget_space(dataset), "read", dataset));
    const std::vector<hsize_t> dims = dataset_dims(dataset);
    const std::size_t extra = field.dimensions.size();
    if (dims.size() < extra) throw std::logic_error(field.name + " has fewer dimensions than its field");
    const std::vector<std::uint64_t> point_dims(dims.begin(),
                                                dims.end() - static_cast<std::ptrdiff_t>(extra));
    std::size_t first_value = 0;
    for (const Hyperslab& box : hyperslabs(point_dims, range)) {
        std::vector<hsize_t> start(box.start.begin(), box.start.end());
        std::vector<hsize_t> count(box.count.begin(), box.count.end());
        start.resize(dims.size(), 0);
        count.insert(count.end(), dims.end() - static_cast<std::ptrdiff_t>(extra), dims.end());
        if (dims.empty()) {
            transfer(H5S_ALL, H5S_ALL, first_value);
            continue;
        }
        hdf5_check_at(
            H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
            "read", dataset);
        hsize_t values = 1;
        for (hsize_t n : count) values *= n;
        Hdf5Space memory(hdf5_check_at(H5Screate_simple(1, &values, nullptr), "read", dataset));
        transfer(memory.get(), space.get(), first_value);
        first_value += values;
    }
}

}  // namespace

hid_t memory_type(FieldType type) {
    switch (type) {
        case FieldType::Int32:
            return H5T_NATIVE_INT32;
        case FieldType::Int64:
            return H5T_NATIVE_INT64;
        case FieldType::Float32:
            return H5T_NATIVE_FLOAT;
        case FieldType::Float64:
            return H5T_NATIVE_DOUBLE;
    }
    throw std::logic_error("no such FieldType");
}

FieldType field_type(hid_t type) {
    for (FieldType candidate : {FieldType::Int32, FieldType::Int64, FieldType::Float32, FieldType::Float64}) {
        if (H5Tequal(type, memory_type(candidate)) > 0) return candidate;
    }
    throw FileError("a field has an unsupported number type");
}

std::vector<hsize_t> dataset_dims(hid_t dataset) {
    Hdf5Space space(hdf5_check_at(H5Dget_space(dataset), "read", dataset));
    const int rank = hdf5_check_at(H5Sget_simple_extent_ndims(space.get()), "read", dataset);
    std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
    if (rank > 0) {
        hdf5_check_at(H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr), "read", dataset);
    }
    return dims;
}

void write_points(hid_t dataset, const FieldSpec& field, WorkRange range, hid_t type, const void* data) {
    const std::size_t size = H5Tget_size(type);
    for_each_box(dataset, field, range, [&](hid_t memory, hid_t file, std::size_t first_value) {
        const std::byte* from = static_cast<const std::byte*>(data) + first_value * size;
        hdf5_check_at(H5Dwrite(dataset, type, memory, file, H5P_DEFAULT, from), "write", dataset);
    });
}

void read_points(hid_t dataset, const FieldSpec& field, WorkRange range, hid_t type, void* data) {
    const std::size_t size = H5Tget_size(type);
    for_each_box(dataset, field, range, [&](hid_t memory, hid_t file, std::size_t first_value) {
        std::byte* to = static_cast<std::byte*>(data) + first_value * size;
        hdf5_check_at(H5Dread(dataset, type, memory, file, H5P_DEFAULT, to), "read " + field.name + " of",
                      dataset);
    });
}

std::int64_t points_per_block(const FieldSpec& field) {
    constexpr std::int64_t block_bytes = 4 << 20;
    if (field.variable()) return 256;  // some rows may be much longer than usual_length
    return std::max<std::int64_t>(1, block_bytes / static_cast<std::int64_t>(field.bytes_per_point()));
}

}  // namespace voltpile
