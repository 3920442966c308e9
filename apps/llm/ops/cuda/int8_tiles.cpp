#include "llm/ops/cuda/int8_tiles.h"

#include <algorithm>

#include "base/error.h"
#include "llm/ops/cuda/dequantize.h"
#include "llm/ops/cuda/int8_rows.h"

namespace voltpile::llm {

namespace {

constexpr std::size_t most_bytes_of_halves = std::size_t{16} << 20;  // weights on their way to integers

// Returns the fewest rows of a piece that take all; of 257 to 384 rows by warpgroups, a half of them; at most
// device.piece_rows.
int piece_rows_for(int rows, const Int8Device& device) {
    const bool warps = device.kernel == Int8Kernel::Warps;
    const int pieces = !warps && rows > 256 && rows <= 384 ? 2 : 1, of_piece = (rows + pieces - 1) / pieces;
    for (int each = 32; each < device.piece_rows; each = warps ? 2 * each : each + 32)
        if (of_piece <= each) return each;
    return device.piece_rows;
}

// Returns how many of the pieces of rows of x a launch multiplies. A launch's workers have as many pairs of
// multiprocessors each, and some may be left over. More launches read the weights more often: by warps, they
// are assumed to pay if they are 10 % faster by this count. By warpgroups, 8 % did not pay (measured).
int pieces_of_launch(int pieces, const Int8Device& device) {
    const int pairs = device.multiprocessors / int8_halves, most = std::min(most_pieces, pairs);
    const int fewest = (pieces + most - 1) / most;
    const int most_launches = device.kernel == Int8Kernel::Warps ? std::min(4 * fewest, pieces) : fewest;
    int best = 0;
    double least = 0;
    for (int launches = fewest; launches <= most_launches; ++launches) {
        const int each = (pieces + launches - 1) / launches, last = pieces - each * (launches - 1);
        if (last <= 0) continue;
        const int workers = pairs / each, workers_of_last = pairs / last;
        const double time = (launches - 1.0) / workers + 1.0 / workers_of_last;
        if (best > 0 && time > 0.9 * least) continue;
        best = each;
        least = time;
    }
    return best;
}

// Rounds tiles `begin` to begin + count - 1 to rows 0 and following of `to`. halves: memory for some rows.
void round_tiles(const TileArgs& all, int begin, int count, const Int8Rows& to, std::uint8_t* halves,
                 std::size_t bytes, const Stream& stream) {
    const MatmulArgs& args = all.matmul;
    const int columns = args.matrix[0].columns, tile_rows = int8_tile_weights / (args.gated ? 2 : 1);
    const auto each = static_cast<int>(bytes / (sizeof(std::uint16_t) * static_cast<std::size_t>(columns))) /
                      8 * 8;  // see Int8Places
    if (each == 0) throw DeviceError("a matrix product needs more scratch memory");
    for (int m = 0; m < args.matrices; ++m) {
        const DeviceMatrix& w = args.matrix[m];
        const int first_tile = args.gated ? 0 : all.first_tile[m];
        const int row_begin = std::max(0, begin - first_tile) * tile_rows,
                  row_end = std::min(w.rows, (begin + count - first_tile) * tile_rows);
        for (int row = row_begin; row < row_end; row += each) {
            const int rows = std::min(each, row_end - row);
            launch_dequantize(w, row, rows, halves, stream);
            Int8Places places{to, int8_half_weights, 0, args.gated};
            const int place = row - (begin - first_tile) * tile_rows;  // among the rows of the matrix
            places.first = args.gated ? place * 2 + m * 8 : place;
            launch_int8_rows(halves, rows, args.integers->rotation, places, stream);
        }
    }
}

// The scratch memory of a product.
struct Room {
    std::size_t tiles_each, pieces_each, halves_bytes = 0;  // at once
    std::uint8_t *parts, *weights = nullptr, *x, *halves = nullptr;

    Room(const TileArgs& all, int piece_rows, std::size_t bytes, int multiprocessors) {
        const std::size_t parts_bytes = 2 * sizeof(float) * int8_half_weights *
                                        static_cast<std::size_t>(piece_rows) *
                                        static_cast<std::size_t>(multiprocessors);
        const std::size_t tile_bytes = bytes_of_rows(int8_tile_weights, all.steps),
                          piece_bytes = bytes_of_rows(static_cast<std::size_t>(piece_rows), all.steps);
        std::size_t left = bytes > parts_bytes ? bytes - parts_bytes : 0;
        parts = all.matmul.scratch;
        x = parts + parts_bytes;
        const auto tiles = static_cast<std::size_t>(all.tiles), pieces = static_cast<std::size_t>(all.pieces);
        tiles_each = std::min<std::size_t>(tiles, most_tiles / (int8_halves * most_pieces));
        if (all.matmul.integers->copy.bytes() == 0) {
            // All of x if that leaves much for weights, which are rounded again for each part of x.
            halves_bytes = std::min(left / 8, most_bytes_of_halves);
            left -= halves_bytes;
            const std::size_t all_x = pieces * piece_bytes,
                              for_weights = std::max(left > all_x ? left - all_x : 0, left / 5 * 2);
            tiles_each = std::clamp<std::size_t>(for_weights / tile_bytes, 1, tiles_each);
            halves = x;
            weights = halves + halves_bytes / 256 * 256;
            x = weights + tiles_each * tile_bytes;
            left -= std::min(left, tiles_each * tile_bytes);
        }
        pieces_each = std::min(left / piece_bytes, pieces);
        if (pieces_each == 0) throw DeviceError("a matrix product needs more scratch memory");
    }
};

// Returns the number of workers of each piece, at most `most`, and makes tiles a multiple of it if they have
// whole tiles each. Costs are in steps (measured).
int divide_tiles(TileArgs& args, int piece_rows, int most) {
    constexpr int least_steps = 4;          // of a worker; fewer do not pay for its start
    const int share = 8 + piece_rows / 32;  // of a tile that several workers have parts of
    most = std::clamp(args.tiles * args.steps / least_steps, 1, most);
    const int each = (args.tiles + most - 1) / most, of_whole = each * args.steps;
    const int parts = std::min(most / args.tiles, args.steps / least_steps),
              of_parts = parts > 1 ? args.steps / parts + share : of_whole + 1;
    const int of_equal = args.tiles * args.steps / most + 2 * share;
    if (of_parts < std::min(of_whole, of_equal)) return parts * args.tiles;
    if (of_equal < of_whole) return most;
    const int workers = (args.tiles + each - 1) / each;
    args.tiles = workers * each;
    return workers;
}

// some: tiles and pieces that are not yet counted by halves, and the rows of x of the launch.
void launch_products(TileArgs some, int piece_rows, const Int8Rows& weights, const Int8Rows& x, bool lasting,
                     const Int8Device& device, const Stream& stream) {
    const int steps = some.tiles * some.steps;
    some.matmul.workers =
        divide_tiles(some, piece_rows, device.multiprocessors / (int8_halves * some.pieces));
    some.pieces *= int8_halves;
    some.begin *= int8_halves;
    for (int& first : some.first_tile) first *= int8_halves;
    const Int8Args args{some, weights, x, steps, lasting};
#if VOLTPILE_SM90
    if (device.kernel == Int8Kernel::Warpgroups) return launch_int8_by_warpgroups(args, piece_rows, stream);
#endif
    launch_int8_by_warps(args, piece_rows, stream);
}

// The same norm of the rows from `row` on.
NormArgs norm_from(NormArgs norm, int row, int columns) {
    const std::int64_t skipped = static_cast<std::int64_t>(row) * columns;
    norm.x += skipped;
    if (norm.delta != nullptr) norm.delta += skipped;
    norm.out = static_cast<std::uint16_t*>(norm.out) + skipped;
    norm.place += static_cast<std::uint64_t>(row);
    return norm;
}

}  // namespace

void launch_int8_tiles(const MatmulArgs& args, std::size_t scratch_bytes, const Int8Device& device,
                       const Stream& stream) {
    const int piece_rows = piece_rows_for(args.rows, device), columns = args.matrix[0].columns;
    const TileArgs all = tile_args(args, piece_rows, int8_tile_weights);
    const Room room(all, piece_rows, scratch_bytes, device.multiprocessors);
    const IntegerWeights& integers = *args.integers;
    const bool copied = integers.copy.bytes() > 0;
    const auto pieces_each = static_cast<int>(room.pieces_each);
    const Int8Rows x = rows_in(room.x, room.pieces_each * static_cast<std::size_t>(piece_rows), all.steps);
    const auto rows_of_tiles = [&](int tile) { return static_cast<std::int64_t>(tile) * int8_tile_weights; };
    for (int piece = 0; piece < all.pieces; piece += pieces_each) {
        const int pieces = std::min(pieces_each, all.pieces - piece), row = piece * piece_rows;
        const int rows = std::min(pieces * piece_rows, args.rows - row);
        const Int8Places places{x, piece_rows, 0, false};
        if (args.norm.x == nullptr)
            launch_int8_rows(
                static_cast<const std::uint16_t*>(args.x) + static_cast<std::int64_t>(row) * columns, rows,
                integers.rotation, places, stream);
        else
            launch_normed_int8_rows(norm_from(args.norm, row, columns), rows, integers.rotation, places,
                                    stream);
        const int each = pieces_of_launch(pieces, device);
        const auto tiles_each = static_cast<int>(room.tiles_each);
        for (int tile = 0; tile < all.tiles; tile += tiles_each) {
            TileArgs some = all;
            some.begin = tile;
            some.tiles = std::min(tiles_each, all.tiles - tile);
            Int8Rows weights;
            if (copied) {
                weights = rows_in(reinterpret_cast<std::uint8_t*>(integers.copy.data()),
                                  static_cast<std::size_t>(rows_of_tiles(all.tiles)), all.steps);
                weights.quants += rows_of_tiles(tile) * all.steps * step_columns;
                weights.scale += rows_of_tiles(tile);
            } else {
                weights =
                    rows_in(room.weights, static_cast<std::size_t>(rows_of_tiles(some.tiles)), all.steps);
                round_tiles(all, tile, some.tiles, weights, room.halves, room.halves_bytes, stream);
            }
            for (int first = 0; first < pieces; first += each) {
                const int first_row = first * piece_rows;
                some.pieces = std::min(each, pieces - first);
                MatmulArgs& a = some.matmul;
                if (a.apart) {  // as of one matrix, which has the rows of both in the order of the copy
                    a.gated = false;
                    a.matrices = 1;
                    a.matrix[0].rows = 2 * args.matrix[0].rows;
                }
                a.rows = std::min(some.pieces * piece_rows, rows - first_row);
                a.scratch = room.parts;
                a.out = static_cast<std::uint8_t*>(args.out) + static_cast<std::int64_t>(row + first_row) *
                                                                   args.out_columns *
                                                                   (args.out_float ? 4 : 2);
                const Int8Rows some_x{
                    x.quants + static_cast<std::int64_t>(first_row) * all.steps * step_columns,
                    x.scale + first_row};
                launch_products(some, piece_rows, weights, some_x, copied, device, stream);
            }
        }
    }
}

void launch_integer_copy(const MatmulArgs& args, std::size_t scratch_bytes, const Stream& stream) {
    const TileArgs all = tile_args(args, 128, int8_tile_weights);
    const SlabMemory::Piece& copy = args.integers->copy;
    const std::size_t rows = static_cast<std::size_t>(all.tiles) * int8_tile_weights;
    if (copy.bytes() != bytes_of_rows(rows, all.steps))
        throw DeviceError("a copy of weights as integers has another size than planned");
    set_to_zero(copy.data(), copy.bytes(), stream);  // rows and columns that do not exist
    const Int8Rows to = rows_in(reinterpret_cast<std::uint8_t*>(copy.data()), rows, all.steps);
    round_tiles(all, 0, all.tiles, to, args.scratch, scratch_bytes, stream);
}

}  // namespace voltpile::llm
