// The color map of the published pictures, "inferno".
#pragma once

#include <cstdint>

namespace voltpile {

struct Rgb {
    std::uint8_t red = 0;
    std::uint8_t green = 0;
    std::uint8_t blue = 0;
    friend bool operator==(const Rgb&, const Rgb&) = default;
};

// position: 0 (nearly black) to 1 (pale yellow), clamped; not NaN. 256 colors, chosen as matplotlib does.
Rgb inferno(double position);

}  // namespace voltpile
