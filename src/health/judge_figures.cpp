#include "health/judge_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace voltpile {
namespace {

using NodesFigures = std::vector<std::vector<Figure>>;

std::optional<double> median_of_peers(const NodesFigures& nodes, const Figure& figure) {
    std::vector<double> values;
    for (const auto& node : nodes)
        for (const Figure& other : node)
            if (&other != &figure && figure.is_peer_of(other)) values.push_back(other.value);
    if (values.empty()) return std::nullopt;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

std::optional<NodeFinding> judge_figure(const NodesFigures& nodes, const Figure& figure) {
    const FigureFacts& about = facts(figure.kind);
    const auto finding = [&](const std::string& compared) {
        return NodeFinding{Health::Degraded,
                           fmt::format("{}: {}: {}, {}", figure.place, about.title,
                                       value_text(figure.kind, figure.value), compared),
                           about.advice};
    };
    if (figure.value < figure.least)
        return finding(fmt::format("{:.0f} % of the {} in theory", 100 * figure.value / figure.theory,
                                   value_text(figure.kind, figure.theory)));
    const auto usual = median_of_peers(nodes, figure);
    if (usual && figure.value < about.peer_share * *usual)
        return finding(fmt::format("its peers {}", value_text(figure.kind, *usual)));
    return std::nullopt;
}

}  // namespace

std::vector<std::vector<NodeFinding>> judge_figures(const NodesFigures& figures) {
    std::vector<std::vector<NodeFinding>> findings(figures.size());
    for (std::size_t node = 0; node < figures.size(); ++node)
        for (const Figure& figure : figures[node])
            if (auto found = judge_figure(figures, figure)) findings[node].push_back(std::move(*found));
    return findings;
}

}  // namespace voltpile
