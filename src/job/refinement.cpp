#include "job/refinement.h"

#include <fmt/format.h>

#include <locale>
#include <sstream>

namespace voltpile {

std::string refinement_text(const Refinement& refinement) {
    return fmt::format("{} {:.17g} {} {} {}", refinement.levels, refinement.threshold,
                       refinement.relative ? "relative" : "absolute", refinement.margin, refinement.field);
}

std::optional<Refinement> parse_refinement(const std::string& text) {
    std::istringstream from(text);
    from.imbue(std::locale::classic());
    Refinement refinement;
    std::string kind;
    from >> refinement.levels >> refinement.threshold >> kind >> refinement.margin >> refinement.field;
    if (!from || (kind != "relative" && kind != "absolute")) return std::nullopt;
    refinement.relative = kind == "relative";
    return refinement;
}

}  // namespace voltpile
