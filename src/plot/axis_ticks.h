// Places the ticks of a plot's axes and color bar, in pixels, as many as their labels leave room for.
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

// Returns the ticks of an axis whose points share `pixels` equally; a value lies at the middle of its point's
// pixels. Ticks are at round values, or at the points' own values if these are few. There is at least one
// tick.
std::vector<PlacedTick> axis_ticks(const PlotAxis& axis, Direction direction, std::int64_t pixels,
                                   int em_pixels);

// Returns the ticks of a color bar, counted from its top, where the greatest value is; none if there are no
// values.
std::vector<PlacedTick> bar_ticks(const PlotLabels& labels, const ColorScale& scale, std::int64_t pixels,
                                  int em_pixels);

}  // namespace voltpile
