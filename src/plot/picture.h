// Pictures of one number at each point, with axes, title and color bar, side by side as a PNG.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "plot/color_scale.h"
#include "plot/field_painter.h"
#include "plot/labels.h"
#include "plot/png_file.h"

namespace voltpile {

struct Picture {
    std::int64_t width = 1, height = 1;  // numbers to draw: points, or blocks of points
    RowSource row;                       // called at least twice for each row
    ColorScale colors;
    PlotLabels labels;
    std::string title, description;  // texts in the file
    std::string signature;           // one more, ASCII, which is_signed finds; may be empty
};

struct PictureLook {
    std::int64_t pixels = 0;  // along the longer side; 0: at least 800
    bool bare = false;        // no axes, title and color bar
    bool deep = false;        // 16 bits a color
    bool shade = false;       // as a relief
    std::vector<double> contours{};
};

// Reads all rows to complete the scale. wanted: map, scaling and period. customary: automatic scaling is
// linear, while that of other fields is logarithmic if all values are positive and span more than a factor of
// 1000. Throws JobError, which names the picture's quantity, for a scale that its values do not have.
ColorScale color_scale(const Picture& picture, ColorScale wanted, bool customary);

// ", from 0 (black) to 3 (yellow), linear"; empty if there are no values.
std::string colors_text(const ColorScale& scale);

// Checks that a picture can be written to `path`, whose name must end in .png, and that it would replace
// nothing but a picture that this program drew. option, kept: as in check_output_file. Throws JobError.
void check_picture_place(const std::filesystem::path& path, std::string_view option,
                         const std::vector<std::filesystem::path>& kept);

// The texts of a picture that check_picture_place knows again.
PngTexts picture_texts(const std::string& title, const std::string& description);

// Returns whether the file at `path` is a picture with this signature.
bool is_signed(const std::filesystem::path& path, const std::string& signature);

// Draws the pictures from left to right. Throws JobError if they are too large, and FileError.
void draw_pictures(const std::filesystem::path& path, const std::vector<Picture>& pictures,
                   const PictureLook& look);

}  // namespace voltpile
