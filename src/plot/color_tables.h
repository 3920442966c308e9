// The tables of the color maps, as matplotlib 3.11 publishes them: its matplotlib.colormaps, in 8 bits.
//
// Inferno and viridis are by Stefan van der Walt, Nathaniel J. Smith and Eric Firing, twilight is by Bastian
// Bechtold; their authors released them under CC0. Cividis is by Jamie R. Nunez, Christopher R. Anderton and
// Ryan S. Renslow (PLOS ONE 13(7): e0199239, 2018), released under CC0, too.
#pragma once

#include <cstdint>
#include <span>

#include "plot/colormap.h"

namespace voltpile {

// Returns the colors of a map as 0xRRGGBB, the first for the least value; none for Classes.
std::span<const std::uint32_t> color_table(ColorMap map);

}  // namespace voltpile
