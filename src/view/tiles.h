// Computes the tiles that the page of `voltpile view` shows: squares of a result at a power of two of its
// points.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "results/result_reader.h"

namespace voltpile {

struct TileRequest {
    std::string field;
    std::vector<std::string> at;  // "name=index", as in PlotOptions
    int level = 0;                // a number of the tile is for 2^level x 2^level points
    std::int64_t x = 0, y = 0;    // counts of tiles from the first points
};

// Use it in one thread. Memory is bounded, however large the result is.
class Tiles {
  public:
    static constexpr std::int64_t side = 256;  // numbers

    // Throws JobError if there is no such result.
    explicit Tiles(std::filesystem::path result);

    // Describes the result, its fields and axes as JSON. Opens a result that is not complete again, so that
    // it tells what is committed now.
    std::string description();

    // Returns the tile's numbers as doubles in the machine's order, row by row; a tile at the right or lower
    // end has fewer. A number is the mean of its points, for many of them that of up to four of their rows;
    // NaN where none has a value. Throws JobError for a tile that does not exist, and FileError.
    const std::string& tile(const TileRequest& request);

  private:
    std::string computed(const TileRequest& request) const;

    std::filesystem::path path_;
    std::unique_ptr<ResultReader> result_;
    std::map<std::string, std::string> cache_;  // by the request
    std::list<std::string> order_;              // its keys, the oldest first
};

// Returns the colors of all maps as JSON: "inferno": [0xRRGGBB, ...]; of classes the first 64, and "missing".
std::string color_maps_json();

}  // namespace voltpile
