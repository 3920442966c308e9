// What `voltpile compare` prints.
#pragma once

#include <string>

#include "results/compare.h"

namespace voltpile {

// What was compared, and how strictly.
struct ComparedResults {
    std::string first, second;  // paths
    AgreementLimits limits;
};

// Returns a table with one line for each field, and a verdict.
std::string compare_text(const ComparedResults& what, const Comparison& comparison);

// Returns the same as one JSON object and a line feed; a number that is not finite is null.
std::string compare_json(const ComparedResults& what, const Comparison& comparison);

}  // namespace voltpile
