// Statistics of the differences between two sets of values, in one pass and in bounded memory.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace voltpile {

// Two values agree if they differ by at most `absolute`, or by at most the part `relative` of the larger one,
// or if both are NaN. Zeros ask for identical values.
struct AgreementLimits {
    double absolute = 0;
    double relative = 0;
};

// Quantiles of numbers that are not negative: a histogram of their exponents and leading ten bits.
class Quantiles {
  public:
    void add(double value);

    // Returns the number below which the part `share` of all numbers lies, rounded down to three digits
    // (whole numbers up to 1024 are exact); NaN if there are no numbers.
    double at(double share) const;

  private:
    std::vector<std::int64_t> counts_;  // allocated by the first number
    std::int64_t total_ = 0;
};

class DifferenceStatistics {
  public:
    explicit DifferenceStatistics(const AgreementLimits& limits) : limits_(limits) {}

    void add(double first, double second);
    // Counts a pair of texts, or of lists of different lengths: identical or beyond the limits.
    void add_other(bool same);

    std::int64_t count = 0;
    std::int64_t identical = 0;  // the same number, or NaN in both
    std::int64_t beyond = 0;     // pairs that do not agree
    std::int64_t nan_in_one = 0;
    std::int64_t nan_in_both = 0;
    double max_absolute = 0;
    double max_relative = 0;
    Quantiles absolute;  // |second - first|; pairs with a NaN are left out
    Quantiles relative;  // the same over the larger of |first| and |second|; 0 for identical values

  private:
    AgreementLimits limits_;
};

// "99.9987 %": never 100 % unless part equals whole, never 0 % unless part is 0; "-" if whole is 0.
std::string share_text(std::int64_t part, std::int64_t whole);

}  // namespace voltpile
