// How long passes take on a processor, by their number of rows. Plain data.
#pragma once

#include <vector>

namespace voltpile::llm {

// How much longer a pass may take for the sake of pieces of prompts in it. Twice is what users are promised;
// beyond what is measured come the host's calls, as such a pass is not replayed.
constexpr double mixed_slowdown = 1.7;

class PassPace {
  public:
    struct Measured {
        int rows = 0;
        double seconds = 0;
    };

    PassPace() = default;  // nothing is known
    // In ascending order of rows. Fewer rows never take longer: where they did, something else disturbed
    // them. Throws std::invalid_argument for another order, and for what is not positive.
    explicit PassPace(std::vector<Measured> measured);

    bool known() const { return !measured_.empty(); }

    // All but best_rows() only if known(), and of one row at least.
    // As the next larger measured one, as passes are filled up; beyond the largest in proportion to the rows.
    double seconds(int rows) const;
    // The most rows that take no longer than that, 0 if there are none.
    int rows_within(double seconds) const;
    // The number of rows, `most` at the most, of which most are computed in a second; `most` itself if it
    // comes within 1 % of that, or if nothing is known.
    int best_rows(int most) const;

  private:
    double rate(int rows) const { return rows / seconds(rows); }

    std::vector<Measured> measured_;
};

}  // namespace voltpile::llm
