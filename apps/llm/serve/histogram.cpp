#include "llm/serve/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace voltpile::llm {

void Histogram::observe(double value) {
    const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
    ++counts_[static_cast<std::size_t>(bucket)];
    sum_ += value;
}

void Histogram::write(std::string& out, std::string_view name, std::string_view help,
                      std::string_view labels) const {
    const auto to = std::back_inserter(out);
    fmt::format_to(to, "# HELP {0} {1}\n# TYPE {0} histogram\n", name, help);
    std::int64_t below = 0;
    for (std::size_t i = 0; i < bounds_.size(); ++i)
        fmt::format_to(to, "{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, bounds_[i], below += counts_[i]);
    below += counts_.back();
    fmt::format_to(to, "{}_bucket{{{},le=\"+Inf\"}} {}\n", name, labels, below);
    fmt::format_to(to, "{0}_sum{{{1}}} {2}\n{0}_count{{{1}}} {3}\n", name, labels, sum_, below);
}

}  // namespace voltpile::llm
