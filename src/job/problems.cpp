#include "job/problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"

namespace voltpile {
namespace {

constexpr std::size_t most_shown = 50;  // a binary file can have a problem on each line

}  // namespace

void Problems::add(Origin origin, const std::string& message) {
    list_.push_back({origin, message});
}

void Problems::throw_if_any() const {
    if (list_.empty()) return;
    auto sorted = list_;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Problem& a, const Problem& b) {
        const auto order = [](const Problem& p) {
            // Lines of the file, then the file as a whole, then overrides.
            return std::tuple(p.origin.override_index, p.origin.line == 0, p.origin.line);
        };
        return order(a) < order(b);
    });
    std::vector<std::string> lines;
    for (const auto& problem : sorted) {
        if (lines.size() == most_shown) {
            lines.push_back(fmt::format("{}: {} more problems", path_, sorted.size() - most_shown));
            break;
        }
        lines.push_back(place(problem.origin) + ": " + problem.message);
    }
    throw JobError(lines);
}

std::string Problems::place(Origin origin) const {
    if (origin.override_index >= 0)
        return "--set " + shown(overrides_[static_cast<std::size_t>(origin.override_index)]);
    if (origin.line > 0) return fmt::format("{}:{}", path_, origin.line);
    return path_;
}

}  // namespace voltpile
