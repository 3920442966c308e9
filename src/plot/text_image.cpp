#include "plot/text_image.h"

#include <utf8proc.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#define STB_TRUETYPE_IMPLEMENTATION
#define STBTT_STATIC
#include <stb_truetype.h>

// The whole font file; its own tables hold its copyright and license.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "voltpile_font:\n"
    ".incbin \"" VOLTPILE_FONT
    "\"\n"
    ".popsection\n");
extern "C" const unsigned char voltpile_font[] __attribute__((visibility("hidden")));

namespace voltpile {
namespace {

const stbtt_fontinfo& opened_font() {
    static const stbtt_fontinfo font = [] {  // shared by all texts
        stbtt_fontinfo info{};
        if (!stbtt_InitFont(&info, voltpile_font, 0)) throw std::logic_error("the font is none");
        return info;
    }();
    return font;
}

class Font {
  public:
    explicit Font(int em_pixels) {
        scale_ = stbtt_ScaleForMappingEmToPixels(&info_, static_cast<float>(em_pixels));
        int ascent = 0, descent = 0, gap = 0;
        stbtt_GetFontVMetrics(&info_, &ascent, &descent, &gap);
        const double scale = scale_;
        baseline_ = static_cast<int>(std::ceil(ascent * scale));
        height_ = baseline_ + static_cast<int>(std::ceil(-descent * scale));
    }

    int height() const { return height_; }

    double advance(int glyph) const {
        int units = 0, bearing = 0;
        stbtt_GetGlyphHMetrics(&info_, glyph, &units, &bearing);
        return static_cast<double>(units) * scale_;
    }

    int glyph(int codepoint) const { return stbtt_FindGlyphIndex(&info_, codepoint); }

    // Adds the glyph's ink with its origin at x on the baseline.
    void draw(int glyph, double x, TextImage& image) const {
        const double left = std::floor(x);
        const auto fraction = static_cast<float>(x - left);
        int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
        stbtt_GetGlyphBitmapBoxSubpixel(&info_, glyph, scale_, scale_, fraction, 0, &x0, &y0, &x1, &y1);
        const int width = x1 - x0, height = y1 - y0;
        if (width <= 0 || height <= 0) return;
        std::vector<std::uint8_t> ink(static_cast<std::size_t>(width) * height);
        stbtt_MakeGlyphBitmapSubpixel(&info_, ink.data(), width, height, width, scale_, scale_, fraction, 0,
                                      glyph);
        for (int row = 0; row < height; ++row) {
            for (int column = 0; column < width; ++column) {
                const int to_x = static_cast<int>(left) + x0 + column, to_y = baseline_ + y0 + row;
                if (to_x < 0 || to_x >= image.width || to_y < 0 || to_y >= image.height) continue;
                std::uint8_t& to = image.coverage[static_cast<std::size_t>(to_y) * image.width + to_x];
                to = std::max(to, ink[static_cast<std::size_t>(row) * width + column]);
            }
        }
    }

  private:
    const stbtt_fontinfo& info_ = opened_font();
    float scale_ = 0;
    int baseline_ = 0, height_ = 0;  // both from the top, in pixels
};

std::vector<int> codepoints(std::string_view utf8) {
    std::vector<int> out;
    const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(utf8.data());
    for (auto left = static_cast<utf8proc_ssize_t>(utf8.size()); left > 0;) {
        utf8proc_int32_t codepoint = 0;
        utf8proc_ssize_t bytes = utf8proc_iterate(at, left, &codepoint);
        if (bytes < 1) {
            bytes = 1;
            codepoint = 0xfffd;
        }
        out.push_back(codepoint);
        at += bytes;
        left -= bytes;
    }
    return out;
}

}  // namespace

TextImage render_text(std::string_view utf8, int em_pixels) {
    const Font font(em_pixels);
    std::vector<int> glyphs;
    double width = 0;
    for (const int codepoint : codepoints(utf8)) {
        glyphs.push_back(font.glyph(codepoint));
        width += font.advance(glyphs.back());
    }
    TextImage image{static_cast<int>(std::ceil(width)), font.height(), {}};
    image.coverage.resize(static_cast<std::size_t>(image.width) * image.height);
    double x = 0;
    for (const int glyph : glyphs) {
        font.draw(glyph, x, image);
        x += font.advance(glyph);
    }
    return image;
}

TextImage turned(const TextImage& image) {
    TextImage out{image.height, image.width, {}};
    for (int y = 0; y < out.height; ++y)
        for (int x = 0; x < out.width; ++x) out.coverage.push_back(image.at(image.width - 1 - y, x));
    return out;
}

}  // namespace voltpile
