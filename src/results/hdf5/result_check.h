// Checks that a finished result file contains what its attributes promise. The caller holds an Hdf5Guard.
// Private to src/results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/damage.h"
#include "results/hdf5/checksum.h"
#include "results/hdf5/handle.h"
#include "results/result_layout.h"

namespace voltpile {

// Reads the layout and checks every dataset that it names: it exists, has the extents of its axes and
// dimensions, and its values have been written. Reads no values of fields. Throws FileError, which says what
// is wrong.
ResultLayout read_checked_layout(hid_t file);

// Reads all values of a field, in blocks of bounded size, and compares them with their checksums. Where the
// file has no checksums, reading them must succeed. Where blocks of a dataset have checksums of their own,
// says which points are in doubt.
std::vector<Damage> damaged_field(hid_t file, const FieldSpec& field, WorkRange whole);

// Does the same for the coordinates of the axes and the numbers of the frames.
std::vector<Damage> damaged_axes(hid_t file, const ResultLayout& layout);

// Whether the file has checksums. Files of versions before 0.2.0 have none.
bool has_checksums(hid_t file);

// Writes the checksum of a dataset's values into its attribute `crc32`.
void write_checksum(hid_t dataset, std::uint32_t crc);

// Writes it and, if there are several blocks, the attributes `crc32Blocks` and `crc32BlockPoints`: the
// checksum of each block, and how many points a block has.
void write_checksums(hid_t dataset, const BlockCrc32& checksums);

// Writes the checksum of the layout and the provenance, as the file has them, into the attribute
// `headerCrc32`.
void write_header_checksum(hid_t file);

}  // namespace voltpile
