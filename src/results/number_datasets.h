// Reads tables of numbers that others wrote as HDF5 files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voltpile {

struct NumberDataset {
    std::string name;
    std::vector<std::uint64_t> dimensions;
    std::vector<double> values;  // in row-major order
};

// Returns the datasets of real numbers and integers in the root group of an HDF5 file, sorted by name;
// others are left out. most_bytes: of all values together. Throws JobError, which names the file, if it
// cannot be read or holds more.
std::vector<NumberDataset> read_number_datasets(const std::string& path, std::uint64_t most_bytes);

}  // namespace voltpile
