// A picture of one number at each point, with axes, title and color bar, as a PNG.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plot/color_scale.h"
#include "plot/labels.h"
#include "plot/png_file.h"
#include "plot/slice.h"

namespace voltpile {

struct Picture {
    Slice slice;
    std::function<std::vector<double>(std::int64_t y)> row;  // slice.width values; called twice for each row
    ColorScale colors;
    PlotLabels labels;
    std::string title, description;  // texts in the file
};

struct PictureLook {
    int scale = 0;      // pixels per point and side; 0: enough for at least 800 on the longer side
    bool bare = false;  // no axes, title and color bar
};

// Returns a linear scale over all values of the picture's rows.
ColorScale color_scale(const Picture& picture);

// ", from 0 (black) to 3 (yellow), linear"; empty if there are no values.
std::string colors_text(const ColorScale& scale);

// Checks that a picture can be written to `path`, whose name must end in .png, and that it would replace
// nothing but a picture that this program drew. option, kept: as in check_output_file. Throws JobError.
void check_picture_place(const std::filesystem::path& path, std::string_view option,
                         const std::vector<std::filesystem::path>& kept);

// The texts of a picture that check_picture_place knows again.
PngTexts picture_texts(const std::string& title, const std::string& description);

// Throws JobError if the picture is too large, and FileError.
void draw_picture(const std::filesystem::path& path, const Picture& picture, const PictureLook& look);

}  // namespace voltpile
