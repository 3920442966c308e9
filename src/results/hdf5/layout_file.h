// A ResultLayout in HDF5: the same in a consolidated result and in `layout.h5`, the manifest of a part
// folder. The caller holds an Hdf5Guard. Private to src/results.
#pragma once

#include <cstdint>
#include <string>

#include "results/hdf5/handle.h"
#include "results/result_layout.h"

namespace voltpile {

inline constexpr const char* software_name = "voltpile";  // attribute `software`: the file is ours
inline constexpr std::int64_t result_format = 1;          // attribute `resultFormat`

// Writes the job's attributes, the dimension scales and the fields' datasets, attached to their scales;
// complete = 0. The values of axes and fields are not written: until then they take no room.
void write_layout(hid_t file, const ResultLayout& layout);
ResultLayout read_layout(hid_t file);

// Returns the attribute `resultFormat`; 1 for files of versions before 0.2.0, which do not have it.
std::int64_t read_result_format(hid_t file);

// Writes the coordinates of every axis and their checksum, in blocks.
void write_coordinates(hid_t file, const ResultLayout& layout);

void write_provenance(hid_t file, const Provenance& provenance);
Provenance read_provenance(hid_t file);  // empty where the file says nothing

}  // namespace voltpile
