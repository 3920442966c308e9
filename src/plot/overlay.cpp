#include "plot/overlay.h"

#include <algorithm>

namespace voltpile {
namespace {

std::uint8_t mixed(std::uint8_t under, std::uint8_t over, int coverage) {
    return static_cast<std::uint8_t>((under * (255 - coverage) + over * coverage + 127) / 255);
}

}  // namespace

void Overlay::outline(const Box& box, Rgb color) {
    fill({box.x - 1, box.y - 1, box.width + 2, 1}, color);
    fill({box.x - 1, box.y + box.height, box.width + 2, 1}, color);
    fill({box.x - 1, box.y, 1, box.height}, color);
    fill({box.x + box.width, box.y, 1, box.height}, color);
}

void Overlay::paint(std::int64_t y, std::span<std::uint8_t> rgb) const {
    const auto pixels = static_cast<std::int64_t>(rgb.size() / 3);
    for (const Mark& mark : marks_) {
        if (y < mark.box.y || y >= mark.box.y + mark.box.height) continue;
        const std::int64_t end = std::min(mark.box.x + mark.box.width, pixels);
        for (std::int64_t x = std::max<std::int64_t>(mark.box.x, 0); x < end; ++x) {
            const int coverage =
                mark.image.coverage.empty()
                    ? 255
                    : mark.image.at(static_cast<int>(x - mark.box.x), static_cast<int>(y - mark.box.y));
            std::uint8_t* const to = &rgb[static_cast<std::size_t>(3 * x)];
            to[0] = mixed(to[0], mark.color.red, coverage);
            to[1] = mixed(to[1], mark.color.green, coverage);
            to[2] = mixed(to[2], mark.color.blue, coverage);
        }
    }
}

}  // namespace voltpile
