// The ticks of a plot's axes and color bar, in pixels, so many that their labels have room.
#pragma once

#include <cstdint>
#include <vector>

#include "plot/color_scale.h"
#include "plot/labels.h"
#include "plot/text_image.h"

namespace voltpile {

struct PlacedTick {
    std::int64_t at = 0;  // pixels from the first one inside the frame; -1 and `pixels` are the frame itself
    TextImage label;
};

enum class Direction { Right, Down };

// Of an axis whose points share `pixels` equally: a value's place is the middle of its point's pixels. Round
// values, or the points' own where they are few; at least one tick.
std::vector<PlacedTick> axis_ticks(const PlotAxis& axis, Direction direction, std::int64_t pixels,
                                   int em_pixels);

// Of a color bar, counted from its top, where the greatest value is; none if there are no values.
std::vector<PlacedTick> bar_ticks(const PlotLabels& labels, const ColorScale& scale, std::int64_t pixels,
                                  int em_pixels);

}  // namespace voltpile
