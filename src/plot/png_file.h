// An RGB picture written row by row, so that its size is bounded by the disk and not by memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace voltpile {

// Keyword and text of tEXt chunks; what is not Latin-1 in UTF-8 input becomes '?'.
using PngTexts = std::vector<std::pair<std::string, std::string>>;

class PngFile {
  public:
    static constexpr std::int64_t max_side = 1'000'000;  // libpng's own limit, and that of most readers

    // Starts under a temporary name. All throw FileError with errno's text.
    PngFile(const std::filesystem::path& path, std::int64_t width, std::int64_t height,
            const PngTexts& texts);
    ~PngFile();  // unless finished, leaves nothing behind
    PngFile(const PngFile&) = delete;
    PngFile& operator=(const PngFile&) = delete;

    void write_row(std::span<const std::uint8_t> rgb);  // 3 * width bytes, from the top
    void finish();                                      // after `height` rows: gives the file its name

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace voltpile
