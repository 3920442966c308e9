// Groups of a result beside its fields, such as /check and /plan: their datasets have checksums, and netCDF
// can read them. The caller holds an Hdf5Guard; all functions throw FileError. Private to src/results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/hdf5/handle.h"

namespace voltpile {

using Hdf5Group = Hdf5Handle<H5Gclose>;

// Creates a group of the file, or replaces the one of this name with all that it holds.
Hdf5Group create_group(hid_t file, const std::string& name);
std::optional<Hdf5Group> open_group(hid_t file, const std::string& name);  // nothing if there is none

// Writes a dataset and the checksum of its values. path: "check/sample". dims: slowest first; as many values
// as their product.
Hdf5Dataset write_values(hid_t file, const std::string& path, const std::vector<hsize_t>& dims,
                         std::span<const double> values);
Hdf5Dataset write_values(hid_t file, const std::string& path, const std::vector<hsize_t>& dims,
                         std::span<const std::int64_t> values);

// Writes texts along one dimension, without a checksum.
Hdf5Dataset write_texts_dataset(hid_t file, const std::string& path, const std::vector<std::string>& texts);

std::vector<double> read_reals(hid_t file, const std::string& path);

// Compares the values of datasets that write_values() wrote with their checksums. Returns a sentence for each
// dataset that is damaged or missing.
std::vector<std::string> damaged_datasets(hid_t file, const std::vector<std::string>& paths);

}  // namespace voltpile
