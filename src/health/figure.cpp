#include "health/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text_table.h"

namespace voltpile {

Figure figure_of(FigureKind kind, std::string place, std::string model, double value, double theory) {
    return {kind, std::move(place), std::move(model), value, theory, theory * facts(kind).least_share};
}

std::string value_text(FigureKind kind, double value) {
    const FigureFacts& about = facts(kind);
    // Three digits, but none dropped before the point.
    const double shown = value * about.scale;
    return fmt::format("{} {}", shown >= 100 ? fmt::format("{:.0f}", shown) : fmt::format("{:.3g}", shown),
                       about.unit);
}

std::string figures_text(const std::vector<Figure>& figures) {
    if (figures.empty()) return "";
    std::vector<TextRow> rows{{"measured", "of", "number", "least", "most", "in theory"}};
    std::vector<bool> listed(figures.size());
    for (std::size_t i = 0; i < figures.size(); ++i) {
        if (listed[i]) continue;
        const Figure& first = figures[i];
        double least = first.value, most = first.value;
        int number = 0;
        for (std::size_t k = i; k < figures.size(); ++k) {
            if (!first.is_peer_of(figures[k])) continue;
            listed[k] = true;
            ++number;
            least = std::min(least, figures[k].value);
            most = std::max(most, figures[k].value);
        }
        rows.push_back({facts(first.kind).title, first.model, std::to_string(number),
                        value_text(first.kind, least), value_text(first.kind, most),
                        first.theory > 0 ? value_text(first.kind, first.theory) : "unknown"});
    }
    return text_table(rows, {2, 3, 4, 5});
}

}  // namespace voltpile
