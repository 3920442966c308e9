// Lists and texts of variable fields, into and out of the datasets of a finished result, which have HDF5's
// own variable-length types. The caller holds an Hdf5Guard; all functions throw FileError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "results/field.h"
#include "results/hdf5/handle.h"
#include "work/work_range.h"

namespace voltpile {

Hdf5Type rows_type(const FieldSpec& field);

// Writes the rows of `range`, as a FieldBuffer has them (results/rows.h). A NUL, which HDF5's texts cannot
// hold, becomes U+FFFD.
void write_rows(hid_t dataset, const FieldSpec& field, WorkRange range, const FieldBuffer& rows);
FieldBuffer read_rows(hid_t dataset, const FieldSpec& field, WorkRange range);

// Returns the bytes that the checksum of a variable field is computed over: for each point its length in
// values, int64, and then its values as the dataset stores them.
std::vector<std::byte> stored_rows(const FieldSpec& field, const FieldBuffer& rows, std::int64_t points);

}  // namespace voltpile
