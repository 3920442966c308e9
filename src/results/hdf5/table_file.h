// Writes a table of measurements as an HDF5 file: one dataset for each column, all along the dimension `row`,
// as h5py, xarray and pandas read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "results/result_layout.h"

namespace voltpile {

struct TableColumn {
    std::string name;
    std::string unit;  // UDUNITS spelling; "1" for pure numbers, "" for texts
    std::string long_name;
    // The last alternative is a list of any length in each row.
    std::variant<std::vector<std::string>, std::vector<std::int64_t>, std::vector<double>,
                 std::vector<std::vector<double>>>
        values;
};

// Writes the file, all of it or nothing. All columns have the same number of rows, at least one. title: the
// command that measured, as root attribute `title`. notes: further root attributes, by name. Throws
// FileError.
void write_table(const std::filesystem::path& path, const std::string& title,
                 const std::vector<TableColumn>& columns, const Provenance& provenance,
                 const std::vector<std::pair<std::string, std::string>>& notes);

// Checks, before the measurement, that a table may be written to `path`: as check_output_file, where only a
// table of this title may be replaced. Throws JobError.
void check_table_place(const std::filesystem::path& path, const std::string& title, std::string_view what,
                       const std::vector<std::filesystem::path>& kept = {});

}  // namespace voltpile
