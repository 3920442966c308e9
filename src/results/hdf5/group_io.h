// Groups of a result beside its fields, such as /check and /plan: their datasets have checksums, and netCDF
// can read them. The caller holds an Hdf5Guard; all functions throw FileError. Private to src/results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/damage.h"
#include "results/hdf5/handle.h"

namespace voltpile {

using Hdf5Group = Hdf5Handle<H5Gclose>;

// Creates a group of the file, or replaces the one of this name with all that it holds.
Hdf5Group create_group(hid_t file, const std::string& name);
std::optional<Hdf5Group> open_group(hid_t file, const std::string& name);  // none if the file lacks it

// Writes a dataset and the checksum of its values. path: "check/sample". dims: slowest first; as many values
// as their product.
Hdf5Dataset write_values(hid_t file, const std::string& path, const std::vector<hsize_t>& dims,
                         std::span<const double> values);
Hdf5Dataset write_values(hid_t file, const std::string& path, const std::vector<hsize_t>& dims,
                         std::span<const std::int64_t> values);

// Writes texts along one dimension, without a checksum.
Hdf5Dataset write_texts_dataset(hid_t file, const std::string& path, const std::vector<std::string>& texts);

std::vector<double> read_reals(hid_t file, const std::string& path);

// Returns the names of what is in a group.
std::vector<std::string> names_in_group(hid_t group);

// Compares the values of numeric datasets with the checksums in their attribute `crc32`. Returns an element
// for each dataset that is damaged or missing.
std::vector<Damage> damaged_datasets(hid_t file, const std::vector<std::string>& paths);

}  // namespace voltpile
