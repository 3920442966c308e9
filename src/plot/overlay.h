// Draws rectangles and texts on a picture that is made row by row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plot/colormap.h"
#include "plot/text_image.h"

namespace voltpile {

struct Box {
    std::int64_t x = 0, y = 0;  // of the upper left corner
    std::int64_t width = 0, height = 0;
};

class Overlay {
  public:
    void fill(const Box& box, Rgb color) { marks_.push_back({box, color, {}}); }

    // Places the upper left corner of the image at (x, y).
    void ink(std::int64_t x, std::int64_t y, TextImage image, Rgb color) {
        marks_.push_back({{x, y, image.width, image.height}, color, std::move(image)});
    }

    // Draws a frame one pixel wide around the box.
    void outline(const Box& box, Rgb color);

    // Paints everything on row y, in the order of the calls above. rgb: 3 bytes per pixel. Parts beyond its
    // ends are omitted.
    void paint(std::int64_t y, std::span<std::uint8_t> rgb) const;

  private:
    struct Mark {
        Box box;
        Rgb color;
        TextImage image;  // empty: all ink
    };
    std::vector<Mark> marks_;
};

}  // namespace voltpile
