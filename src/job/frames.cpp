#include "job/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

namespace voltpile {
namespace {

// No processor fuses or reorders operations in this type.
using Wide = long double;

Wide eased(Easing easing, Wide t) {
    switch (easing) {
        case Easing::In:
            return t * t;
        case Easing::Out:
            return t * (2 - t);
        case Easing::InOut:
            return t * t * (3 - 2 * t);
        default:
            return t;
    }
}

std::string optional_text(const std::optional<double>& value) {
    return value ? fmt::format("{:.17g}", *value) : "-";
}

bool read_optional(const std::string& word, std::optional<double>& value) {
    if (word == "-") return true;
    char* end = nullptr;
    value = std::strtod(word.c_str(), &end);
    return end != word.c_str() && *end == '\0';
}

}  // namespace

FrameRange FrameChange::at(std::int64_t frame) const {
    if (frame == 0) return first;
    const std::int64_t intervals = std::max<std::int64_t>(1, endpoint ? frames - 1 : frames);
    const Wide part = eased(easing, static_cast<Wide>(frame) / static_cast<Wide>(intervals));
    const Wide halved = halve_every > 0 ? exp2l(-static_cast<Wide>(frame) / halve_every) : 1.0L;
    if (!swept) {
        const Wide begin = first.from;
        Wide value = begin * halved;
        if (to && logarithmic) value = begin * powl(*to / begin, part);
        if (to && !logarithmic) value = begin + (*to - begin) * part;
        const auto rounded = static_cast<double>(whole ? roundl(value) : value);
        return {rounded, rounded};
    }
    const Wide middle = (static_cast<Wide>(first.from) + first.to) / 2;
    const Wide half = (static_cast<Wide>(first.to) - first.from) / 2;
    const Wide least = width ? std::abs(*width / (2 * half)) : 0.0L;
    const Wide scale = width ? powl(least, part) : halved;
    const bool zooms = width ? least != 1 : halve_every > 0;
    const Wide left = zooms ? (scale - least) / (1 - least) : 1 - part;  // of the middle's way
    const Wide now = to ? *to + (middle - *to) * left : middle;
    if (scale == 1 && now == middle) return first;
    return {static_cast<double>(now - half * scale), static_cast<double>(now + half * scale)};
}

std::string change_text(const FrameChange& change) {
    const auto unit = change.unit.empty() ? "-" : change.unit;
    return fmt::format("{} {} {} {} {} {} {:.17g} {:.17g} {} {} {:.17g} {} {} {} {} {}", change.name,
                       change.parameter, change.key, change.element, int{change.swept}, int{change.whole},
                       change.first.from, change.first.to, optional_text(change.to),
                       optional_text(change.width), change.halve_every, int{change.logarithmic},
                       static_cast<int>(change.easing), change.frames, int{change.endpoint}, unit);
}

std::optional<FrameChange> parse_change(const std::string& text) {
    std::istringstream words(text);
    FrameChange change;
    std::string to, width;
    int easing = 0;
    words >> change.name >> change.parameter >> change.key >> change.element >> change.swept >>
        change.whole >> change.first.from >> change.first.to >> to >> width >> change.halve_every >>
        change.logarithmic >> easing >> change.frames >> change.endpoint;
    words >> std::ws;
    std::getline(words, change.unit);
    const bool known = easing >= 0 && easing <= static_cast<int>(Easing::InOut) && change.frames > 0;
    if (words.fail() || !known || !read_optional(to, change.to) || !read_optional(width, change.width))
        return std::nullopt;
    change.easing = static_cast<Easing>(easing);
    if (change.unit == "-") change.unit.clear();
    return change;
}

}  // namespace voltpile
