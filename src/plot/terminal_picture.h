// Draws a picture as text for a terminal with 24-bit colors, or as graphics for one that knows kitty's
// protocol.
#pragma once

#include <cstdint>
#include <string>

#include "plot/picture.h"
#include "plot/plot.h"

namespace voltpile {

// Returns how many points a side of a block needs so that the slice fits the terminal, below a title and
// above a line about its colors.
std::int64_t terminal_block(std::int64_t width, std::int64_t height, const TerminalSize& size);

// Returns the picture in half blocks, two pixels per character, with its title and the ends of its scale.
std::string terminal_text(const Picture& picture, const PictureLook& look, const TerminalSize& size);

}  // namespace voltpile
