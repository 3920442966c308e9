#include "threebody/peak.h"

#include <algorithm>
#include <chrono>

namespace voltpile::threebody {

double fma_peak(const CpuTarget& target) {
    constexpr long rounds = 4'000'000;
    double best = 0;
    for (int repeat = 0; repeat < 8; ++repeat) {
        const auto start = std::chrono::steady_clock::now();
        const volatile double result = target.fma_rounds(rounds);
        static_cast<void>(result);
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        best = std::max(best, 12.0 * rounds * (target.bits / 64) / elapsed.count());
    }
    return best;
}

}  // namespace voltpile::threebody
