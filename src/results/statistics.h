// What the values of a field look like, gathered as a stream.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "results/result_reader.h"

namespace voltpile {

struct Statistics {
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
    std::int64_t finite = 0;  // values that min, max and mean are of
    std::int64_t nan = 0;
    std::int64_t infinite = 0;
    std::int64_t at_maximum = 0;  // values that equal max

    double mean() const {
        return finite > 0 ? static_cast<double>(sum_ / static_cast<long double>(finite)) : 0;
    }
    void add(double value);

  private:
    long double sum_ = 0;  // 64 bits of mantissa: exact for integers as long as they sum to less than 2^64
};

// Over all computed values, in blocks of bounded size; of a variable field over the lengths.
Statistics field_statistics(const ResultReader& result, const FieldSpec& field);

}  // namespace voltpile
