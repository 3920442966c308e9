// Statistics of the values of a field, computed in one pass.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "results/result_reader.h"

namespace voltpile {

struct Statistics {
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
    std::int64_t finite = 0;  // values that min, max and mean cover
    std::int64_t nan = 0;
    std::int64_t infinite = 0;
    std::int64_t at_maximum = 0;  // values that equal max

    double mean() const {
        return finite > 0 ? static_cast<double>(sum_ / static_cast<long double>(finite)) : 0;
    }
    void add(double value);

  private:
    long double sum_ = 0;  // with a 64-bit mantissa: exact for integers whose sum is below 2^64
};

// Returns the statistics of all computed values of a field; of a variable field, those of its lengths. Reads
// blocks of bounded size. Throws FileError.
Statistics field_statistics(const ResultReader& result, const FieldSpec& field);

}  // namespace voltpile
