// A sample of values in which each has its rank, for histogram equalization.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace voltpile {

// Keeps all values up to 2^18 of them; then every 2nd, every 4th and so on, so that it takes at most 2 MiB.
class RankSample {
  public:
    void add(double value) {
        if (seen_++ % every_ != 0) return;
        kept_.push_back(value);
        if (kept_.size() <= most) return;
        for (std::size_t i = 0; 2 * i < kept_.size(); ++i) kept_[i] = kept_[2 * i];
        kept_.resize((kept_.size() + 1) / 2);
        every_ *= 2;
    }

    // Returns the sample in rising order. Call it once, at the end.
    std::vector<double> sorted() {
        std::ranges::sort(kept_);
        return std::move(kept_);
    }

  private:
    static constexpr std::size_t most = 1 << 18;
    std::vector<double> kept_;
    std::int64_t seen_ = 0, every_ = 1;
};

}  // namespace voltpile
