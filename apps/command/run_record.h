// What one run of the program leaves in the result.
#pragma once

#include <string>
#include <vector>

#include "command/outputs.h"
#include "results/field.h"

namespace voltpile::command {

// How a run ended. The numbers are stored; see outcome_words().
enum class Outcome : int {
    Done = 0,
    ExitCode = 1,
    Signal = 2,
    TimeLimit = 3,
    NoOutput = 4,
    Ended = 5,
    Flooded = 6
};

struct RunRecord {
    Outcome outcome = Outcome::Done;
    int exit_code = 0;  // 128 + N if signal N ended the program
    double seconds = 0;
    std::string problem;  // empty: none
    std::string host;     // where an instance ran
    std::string missing;  // which outputs an instance has not printed; not stored
    std::vector<OutputValue> values;
};

FieldSpec outcome_field();
FieldSpec problem_field();

// The fields that every job has; those of its outputs follow. With several instances of the program there are
// also Outcome::Ended and the field `host`.
std::vector<FieldSpec> record_fields(bool instances);

// Returns the buffers of these points, in the order of record_fields() and the outputs.
std::vector<FieldBuffer> to_buffers(const std::vector<RunRecord>& records, bool instances);

// A record as a message between ranks.
std::string to_bytes(const RunRecord& record);
RunRecord run_record_from(const std::string& bytes);

}  // namespace voltpile::command
