// Paints the pixels of a field row by row: colors, hill shading and contour lines.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "plot/color_scale.h"

namespace voltpile {

// Returns the numbers of one row, all rows of one length.
using RowSource = std::function<std::vector<double>(std::int64_t y)>;

struct FieldLook {
    std::int64_t pixels_x = 1, pixels_y = 1;  // per number
    bool deep = false;                        // colors between the entries of the table
    bool shade = false;                       // as a relief of which the values are the heights
    std::vector<double> contours;             // lines along which the field has these values
};

class FieldPainter {
  public:
    // The references must outlive the painter, which keeps five rows of numbers.
    FieldPainter(const RowSource& source, std::int64_t width, std::int64_t height, const ColorScale& scale,
                 FieldLook look);

    std::int64_t width() const { return width_ * look_.pixels_x; }
    std::int64_t height() const { return height_ * look_.pixels_y; }

    // Paints row y; call it with rising y. colors: width() of them.
    void paint(std::int64_t y, std::span<DeepColor> colors);

  private:
    const std::vector<double>& row(std::int64_t y);
    void color_points(std::int64_t y);
    double light_on(std::int64_t x, std::int64_t y);
    void draw_contours(std::int64_t y, std::span<DeepColor> colors);
    std::vector<double> line_at(double y);

    const RowSource& source_;
    std::int64_t width_, height_;
    const ColorScale& scale_;
    FieldLook look_;
    std::map<std::int64_t, std::vector<double>> rows_;
    std::int64_t colored_ = -1;  // the row of numbers whose colors colors_ has
    std::vector<DeepColor> colors_;
};

}  // namespace voltpile
