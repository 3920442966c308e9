// Compares two results of the same sweep field by field: `voltpile compare`.
#pragma once

#include <string>
#include <vector>

#include "results/difference.h"
#include "results/result_reader.h"

namespace voltpile {

struct FieldAgreement {
    std::string name;
    std::string unit;
    DifferenceStatistics found;
};

struct Comparison {
    std::int64_t compared = 0;           // points that both results have
    std::int64_t missing_in_first = 0;   // points that only the second has
    std::int64_t missing_in_second = 0;  // points that only the first has
    std::int64_t missing_in_both = 0;
    std::vector<FieldAgreement> fields;
    std::vector<std::string> only_in_first, only_in_second;  // fields that were not compared

    // Whether all values agree. Points that only one result has do not.
    bool agree() const;
};

// Throws a JobError that says what differs unless both have the same points: the same axes, swept numbers,
// units and coordinates.
void check_same_points(const ResultReader& first, const ResultReader& second);

// Returns the fields to compare, as the first result has them: those named, or all that both have. Throws
// JobError if a result lacks a named field, if they have none in common, or if a field's unit, dimensions or
// kind differ.
std::vector<FieldSpec> fields_to_compare(const ResultReader& first, const ResultReader& second,
                                         const std::vector<std::string>& names);

// Compares all values of the fields, which default to those that both have. Lists are compared number by
// number if their lengths are the same. Reads blocks of bounded size. Throws JobError as the functions above,
// and FileError.
Comparison compare(const ResultReader& first, const ResultReader& second, const AgreementLimits& limits,
                   const std::vector<std::string>& names);

}  // namespace voltpile
