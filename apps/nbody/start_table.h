// The table of starts of a job: a column for each number that differs between points, a row for each point.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/job_spec.h"

namespace voltpile::nbody {

struct StartTable {
    std::vector<int> numbers;    // a Number for each column
    std::vector<double> values;  // row by row
    std::int64_t rows() const { return numbers.empty() ? 0 : std::ssize(values) / std::ssize(numbers); }
};

// Reads table.file: HDF5 if its name ends with .h5 or .hdf5, else CSV. The path is relative to the working
// folder, or to the folder of the files that come with the program. Throws JobError, which names the file
// and the line, if the table does not fit the job.
StartTable read_start_table(const JobSpec& job);

// Returns a hash of its content.
std::string fingerprint_of(const StartTable& table);

// For other ranks.
std::string to_bytes(const StartTable& table);
StartTable start_table_from_bytes(const std::string& bytes);

}  // namespace voltpile::nbody
