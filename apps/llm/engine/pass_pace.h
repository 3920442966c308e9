// How long passes take on a processor, as a function of their number of rows.
#pragma once

#include <vector>

namespace voltpile::llm {

// How much longer a pass may take because it also reads prompts. Users are promised at most twice; the rest
// is left for launching such a pass call by call, which the measurement does not see.
constexpr double mixed_slowdown = 1.7;

class PassPace {
  public:
    struct Measured {
        int rows = 0;
        double seconds = 0;
    };

    PassPace() = default;  // nothing is known
    // measured: in ascending order of rows. A point that is slower than one with more rows takes that one's
    // time, because something else must have disturbed it. Throws std::invalid_argument for another order and
    // for times that are not positive.
    explicit PassPace(std::vector<Measured> measured);

    bool known() const { return !measured_.empty(); }

    // Call seconds() and rows_within() only if known(), with at least one row.
    // Returns the time of the next larger measured pass, because passes are padded to those shapes; beyond
    // the largest, the time grows in proportion to the rows.
    double seconds(int rows) const;
    // Returns the largest number of rows that take at most this long; 0 if even one row takes longer.
    int rows_within(double seconds) const;
    // Returns the number of rows, at most `most`, with the highest rate in rows per second. Prefers `most` if
    // its rate is within 1 % of the best, and returns it if nothing is known.
    int best_rows(int most) const;

  private:
    double rate(int rows) const { return rows / seconds(rows); }

    std::vector<Measured> measured_;
};

}  // namespace voltpile::llm
