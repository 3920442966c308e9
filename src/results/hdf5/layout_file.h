// Reads and writes a ResultLayout in HDF5, in the same form in a finished result and in `layout.h5`, the
// manifest of a part folder. The caller holds an Hdf5Guard. Private to src/results.
#pragma once

#include <cstdint>
#include <string>

#include "results/hdf5/handle.h"
#include "results/result_layout.h"

namespace voltpile {

inline constexpr const char* software_name = "voltpile";  // attribute `software` of our files
inline constexpr std::int64_t result_format = 1;          // attribute `resultFormat`

// Writes the job's attributes, the dimension scales, and the datasets of the fields attached to their scales;
// complete = 0. It does not write the values of axes and fields: until then they take no space.
void write_layout(hid_t file, const ResultLayout& layout);
ResultLayout read_layout(hid_t file);

// Returns the attribute `resultFormat`; 1 for files of versions before 0.2.0, which do not have it.
std::int64_t read_result_format(hid_t file);

// Writes the coordinates of every axis and their checksum, in blocks.
void write_coordinates(hid_t file, const ResultLayout& layout);

void write_provenance(hid_t file, const Provenance& provenance);
Provenance read_provenance(hid_t file);  // empty where the file has no attribute

}  // namespace voltpile
