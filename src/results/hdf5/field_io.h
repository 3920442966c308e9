// Reads and writes the values of fields in HDF5 datasets. The caller holds an Hdf5Guard; all functions throw
// FileError.
#pragma once

#include <cstddef>
#include <vector>

#include "results/field.h"
#include "results/hdf5/handle.h"
#include "work/work_range.h"

namespace voltpile {

hid_t memory_type(FieldType type);  // a constant of HDF5: do not close it
FieldType field_type(hid_t type);

std::vector<hsize_t> dataset_dims(hid_t dataset);

// The leading dimensions of `dataset`, without the field's own ones, are the points, flattened in row-major
// order. data: the values, of `type`.
void write_points(hid_t dataset, const FieldSpec& field, WorkRange range, hid_t type, const void* data);
void read_points(hid_t dataset, const FieldSpec& field, WorkRange range, hid_t type, void* data);

// Returns how many points to read or write at once: about 4 MiB, at least one point.
std::int64_t points_per_block(const FieldSpec& field);

}  // namespace voltpile
