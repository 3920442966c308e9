// What one run of the program leaves in the result.
#pragma once

#include <string>
#include <vector>

#include "command/outputs.h"
#include "results/field.h"

namespace voltpile::command {

// How a run ended. The numbers are stored; see outcome_words().
enum class Outcome : int { Done = 0, ExitCode = 1, Signal = 2, TimeLimit = 3, NoOutput = 4 };

struct RunRecord {
    Outcome outcome = Outcome::Done;
    int exit_code = 0;  // 128 + N if signal N ended the program
    double seconds = 0;
    std::string problem;  // empty: none
    std::vector<OutputValue> values;
};

// The fields that every job has; those of its outputs follow.
std::vector<FieldSpec> record_fields();

// Returns the buffers of one point, in the order of record_fields() and the outputs.
std::vector<FieldBuffer> to_buffers(const RunRecord& record);

}  // namespace voltpile::command
