#include "llm/engine/pass_pace.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace voltpile::llm {
namespace {

constexpr double as_good = 0.99;  // as a share of the best rate

}  // namespace

PassPace::PassPace(std::vector<Measured> measured) : measured_(std::move(measured)) {
    int before = 0;
    for (const Measured& each : measured_)
        if (each.rows <= std::exchange(before, each.rows) || !(each.seconds > 0))
            throw std::invalid_argument(
                "measured passes must be in ascending order of rows, with positive times");
    for (std::size_t i = measured_.size(); i-- > 1;)
        measured_[i - 1].seconds = std::min(measured_[i - 1].seconds, measured_[i].seconds);
}

double PassPace::seconds(int rows) const {
    const auto next = std::ranges::lower_bound(measured_, rows, {}, &Measured::rows);
    if (next != measured_.end()) return next->seconds;
    return measured_.back().seconds * rows / measured_.back().rows;
}

int PassPace::rows_within(double seconds) const {
    const auto beyond = std::ranges::upper_bound(measured_, seconds, {}, &Measured::seconds);
    if (beyond == measured_.begin()) return 0;
    const Measured& last = *std::prev(beyond);
    if (beyond != measured_.end()) return last.rows;
    constexpr double endless = 1 << 30;
    return static_cast<int>(std::min(last.rows * seconds / last.seconds, endless));
}

int PassPace::best_rows(int most) const {
    if (!known() || most < 1) return most;
    int best = most;
    for (const Measured& each : measured_)
        if (each.rows < most && rate(each.rows) >= rate(best)) best = each.rows;
    return rate(most) >= as_good * rate(best) ? most : best;
}

}  // namespace voltpile::llm
