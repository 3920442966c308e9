#include "llm/ops/cuda/tiles.h"

#include <algorithm>

#include "llm/ops/cuda/with_format.h"

namespace voltpile::llm {

namespace {

constexpr int least_steps = 4;  // of a worker; fewer do not pay for its start and its sums

int tiles_in(const DeviceMatrix& w, int weights) {
    return (w.rows + weights - 1) / weights;
}

}  // namespace

TileArgs tile_args(const MatmulArgs& args, int piece_rows, int weights) {
    TileArgs tiles{args, {0, 0, 0, 0}, 0, 0, (args.rows + piece_rows - 1) / piece_rows};
    tiles.steps = (args.matrix[0].columns + step_columns - 1) / step_columns;
    for (int m = 0; m < args.matrices; ++m)
        tiles.first_tile[m + 1] =
            tiles.first_tile[m] + tiles_in(args.matrix[m], args.gated ? weights / 2 : weights);
    tiles.tiles = args.gated ? tiles.first_tile[1] : tiles.first_tile[args.matrices];
    return tiles;
}

int tiles_of(const MatmulArgs& args) {
    return tile_args(args, tile_rows).tiles;
}

int tile_workers(const MatmulArgs& args, int most_workers) {
    return workers_of(tile_args(args, tile_rows), most_workers);
}

int workers_of(const TileArgs& tiles, int most_workers) {
    const int steps = static_cast<int>(
        std::min<std::int64_t>(static_cast<std::int64_t>(tiles.tiles) * tiles.steps / least_steps, 1 << 20));
    const int places = std::clamp(steps, 1, std::max(1, most_workers));
    const int whole = places / tiles.tiles * tiles.tiles;
    return 5 * whole >= 4 * places ? whole : places;
}

std::size_t tile_scratch_bytes(int rows, int workers) {
    const int pieces = pieces_of(rows);
    return 2 * sizeof(float) * tile_weights * tile_rows * static_cast<std::size_t>(pieces * workers);
}

void launch_tiles(const MatmulArgs& args, const Stream& stream) {
    const TileArgs tiles = tile_args(args, tile_rows);
    with_format(args.matrix[0].format, [&](auto format) { launch_tiles_of<format.value>(tiles, stream); });
}

}  // namespace voltpile::llm
