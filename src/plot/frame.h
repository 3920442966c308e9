// The surroundings of the field in a plot: axes, title, color bar.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plot/color_scale.h"
#include "plot/labels.h"
#include "plot/overlay.h"

namespace voltpile {

class PlotFrame {
  public:
    // Frames a field of the given size in pixels, with equally many pixels for each point. Text grows with
    // it. contours: values that the color bar marks. The scale must outlive the frame.
    PlotFrame(const PlotLabels& labels, const ColorScale& scale, std::int64_t field_width,
              std::int64_t field_height, const std::vector<double>& contours = {});

    std::int64_t width() const { return width_; }
    std::int64_t height() const { return height_; }
    const Box& field() const { return field_; }  // the pixels inside the frame

    // Paints row y, white where the field will be. rgb: 3 * width() bytes.
    void paint(std::int64_t y, std::span<std::uint8_t> rgb) const;

  private:
    std::int64_t width_ = 0, height_ = 0;
    Box field_, bar_;
    const ColorScale& scale_;
    Overlay overlay_;
};

}  // namespace voltpile
