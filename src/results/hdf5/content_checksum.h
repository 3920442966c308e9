// The checksum of everything in a group that has no checksum of its own: its attributes, texts, and the
// names, extents, scales and attributes of its datasets. HDF5 keeps texts of variable length without any
// checksum, and links of an older form too. The caller holds an Hdf5Guard; all functions throw FileError.
// Private to src/results.
#pragma once

#include <vector>

#include "results/damage.h"
#include "results/hdf5/handle.h"

namespace voltpile {

// Writes the attribute `contentCrc32` of a group, which covers the groups in it too; that of a file does not
// cover groups, which have their own. Call it when the group is complete. Attributes that begin with "_", as
// netCDF adds them, and `complete` do not count.
void write_content_checksum(hid_t group);

// Compares the content of the file and of each of its groups with these checksums. Groups without one, as
// files of versions before 0.2.0 have them, are not checked.
std::vector<Damage> damaged_content(hid_t file);

}  // namespace voltpile
