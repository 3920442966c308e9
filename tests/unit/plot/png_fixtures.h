// Reads pictures back with libpng's simplified interface, which the program does not use.
#pragma once

#include <png.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "plot/colormap.h"

namespace voltpile::test {

struct Picture {
    std::int64_t width = 0, height = 0;
    std::vector<png_byte> rgb;
    Rgb at(std::int64_t x, std::int64_t y) const {
        const png_byte* p = &rgb[static_cast<std::size_t>(3 * (y * width + x))];
        return {p[0], p[1], p[2]};
    }
};

inline Picture read_png(const std::filesystem::path& path) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    Picture picture;
    if (!png_image_begin_read_from_file(&image, path.c_str())) throw std::runtime_error(image.message);
    image.format = PNG_FORMAT_RGB;
    picture.rgb.resize(PNG_IMAGE_SIZE(image));
    if (!png_image_finish_read(&image, nullptr, picture.rgb.data(), 0, nullptr))
        throw std::runtime_error(image.message);
    picture.width = image.width;
    picture.height = image.height;
    return picture;
}

}  // namespace voltpile::test
