#include "work/gauge.h"

#include <algorithm>

namespace voltpile {

std::vector<Gauge> merged(const std::vector<std::vector<Gauge>>& by_rank) {
    std::vector<Gauge> all;
    std::vector<int> told;  // by how many ranks
    for (const std::vector<Gauge>& gauges : by_rank) {
        for (const Gauge& gauge : gauges) {
            const auto found = std::ranges::find(all, gauge.name, &Gauge::name);
            if (found == all.end()) {
                all.push_back(gauge);
                told.push_back(1);
                continue;
            }
            found->value += gauge.value;
            ++told[static_cast<std::size_t>(found - all.begin())];
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].kind == Gauge::Kind::Mean) all[i].value /= told[i];
    return all;
}

}  // namespace voltpile
