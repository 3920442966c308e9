// Writes an RGB picture row by row, so that the disk and not memory bounds its size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace voltpile {

// Keyword and text (UTF-8) of tEXt chunks; a character outside Latin-1 becomes '?'.
using PngTexts = std::vector<std::pair<std::string, std::string>>;

class PngFile {
  public:
    static constexpr std::int64_t max_side = 1'000'000;  // the limit of libpng and of most readers

    // Starts the file under a temporary name. All functions throw FileError with errno's text.
    // bits: 8 or 16 of each of the three colors of a pixel.
    PngFile(const std::filesystem::path& path, std::int64_t width, std::int64_t height, const PngTexts& texts,
            int bits = 8);
    ~PngFile();  // removes the file unless it is finished
    PngFile(const PngFile&) = delete;
    PngFile& operator=(const PngFile&) = delete;

    // Rows from the top, 3 * width numbers each, of the type that has the file's bits.
    void write_row(std::span<const std::uint8_t> rgb);
    void write_row(std::span<const std::uint16_t> rgb);
    void finish();  // call it after `height` rows; gives the file its name

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Returns whether `path` is a PNG file with a tEXt chunk before its pixels whose keyword is `keyword` and
// whose text begins with `beginning`. Returns false for a file that it cannot read.
bool has_png_text(const std::filesystem::path& path, std::string_view keyword, std::string_view beginning);

}  // namespace voltpile
