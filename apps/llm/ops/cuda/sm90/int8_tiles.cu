#include "llm/ops/cuda/sm90/int8_tiles.h"

#include <algorithm>

#include "base/error.h"
#include "device/memory.h"
#include "llm/ops/cuda/sm90/int8_product.cuh"
#include "llm/ops/cuda/sm90/int8_rows.cuh"
#include "llm/ops/cuda/sm90/wide_product.h"
#include "llm/ops/cuda/with_format.h"

namespace voltpile::llm {

namespace {

using Shape = Int8Shape;
static_assert(sizeof(Int8Weights) % 16 == 0 && sizeof(Int8Rows) % 16 == 0);  // bulk copies

int divided(int number, int by) {
    return (number + by - 1) / by;
}

// The scratch memory of a product.
struct Room {
    int tiles_each, pieces_each;  // at once: of rounded weights and of quantized x
    std::uint8_t *parts, *weights, *x, *scales, *factors, *largest;

    Room(const TileArgs& all, std::size_t bytes, int multiprocessors) {
        const auto steps = static_cast<std::size_t>(all.steps);
        const std::size_t parts_bytes =
            2 * sizeof(float) * Shape::weights * Shape::rows * static_cast<std::size_t>(multiprocessors);
        const std::size_t tile_bytes = steps * sizeof(Int8Weights), rows = Shape::rows;
        const std::size_t piece_bytes =
            steps * (sizeof(Int8Rows) + sizeof(float) + sizeof(std::uint16_t) * rows) + sizeof(float) * rows;
        // All of x if that leaves much for weights, which are rounded again for each part of x.
        const std::size_t left = bytes > parts_bytes ? bytes - parts_bytes : 0,
                          all_x = static_cast<std::size_t>(all.pieces) * piece_bytes,
                          for_weights = std::max(left > all_x ? left - all_x : 0, left / 5 * 2);
        const std::size_t most = static_cast<std::size_t>(std::min(all.tiles, most_tiles / most_pieces)),
                          tiles = std::clamp<std::size_t>(for_weights / tile_bytes, 1, most),
                          weights_bytes = tiles * tile_bytes;
        const std::size_t pieces = std::min(left > weights_bytes ? (left - weights_bytes) / piece_bytes : 0,
                                            static_cast<std::size_t>(all.pieces));
        if (pieces == 0) throw DeviceError("a matrix product needs more scratch memory");
        tiles_each = static_cast<int>(tiles);
        pieces_each = static_cast<int>(pieces);
        parts = all.matmul.scratch;
        weights = parts + parts_bytes;
        x = weights + weights_bytes;
        scales = x + pieces * steps * sizeof(Int8Rows);
        factors = scales + pieces * rows * sizeof(float);
        largest = factors + pieces * steps * sizeof(float);
    }
};

template <int cluster>
void launch_product(const Int8Args& args, const Stream& stream) {
    const auto kernel = args.tiles.matmul.gated ? int8_product<true, cluster> : int8_product<false, cluster>;
    constexpr std::size_t bytes = sizeof(Int8Shared);
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
               "shared memory of a product of integers");
    launch_early("product of integers", kernel,
                 {args.tiles.pieces * args.tiles.matmul.workers, int8_threads, bytes}, stream, args);
}

}  // namespace

bool takes_int8_tiles(const MatmulArgs& args) {
    return args.rows >= least_int8_rows && args.matrix[0].format != WeightFormat::F16 && !args.out_float;
}

void launch_int8_tiles(const MatmulArgs& args, std::size_t scratch_bytes, int multiprocessors,
                       const Stream& stream) {
    const TileArgs all = tile_args(args, Shape::rows, Shape::weights);
    const Room room(all, scratch_bytes, multiprocessors);
    const int columns = args.matrix[0].columns;
    auto* const weights = reinterpret_cast<Int8Weights*>(room.weights);
    auto* const x = reinterpret_cast<Int8Rows*>(room.x);
    auto* const scales = reinterpret_cast<float*>(room.scales);
    auto* const factors = reinterpret_cast<std::uint32_t*>(room.factors);
    auto* const largest = reinterpret_cast<std::uint16_t*>(room.largest);
    for (int piece = 0; piece < all.pieces; piece += room.pieces_each) {
        const int pieces = min(room.pieces_each, all.pieces - piece), row = piece * Shape::rows;
        const int rows = min(pieces * Shape::rows, args.rows - row);
        const auto* from = static_cast<const __half*>(args.x) + static_cast<std::int64_t>(row) * columns;
        const auto steps = static_cast<std::size_t>(all.steps);
        set_to_zero(factors, static_cast<std::size_t>(pieces) * steps * sizeof(float), stream);
        launch_early("measuring activations", measure_rows,
                     {rows, quantizing_threads, sizeof(std::uint32_t) * steps}, stream, from, columns,
                     all.steps, largest, factors);
        launch_early("quantizing activations", quantize_rows, {rows, quantizing_threads}, stream, from,
                     columns, all.steps, largest, factors, x, scales);
        const int launches = divided(pieces, most_pieces), each = divided(pieces, launches);
        for (int tile = 0; tile < all.tiles; tile += room.tiles_each) {
            TileArgs some = all;
            some.begin = tile;
            some.tiles = min(room.tiles_each, all.tiles - tile);
            with_format(args.matrix[0].format, [&](auto format) {
                if constexpr (format.value == WeightFormat::F16)
                    throw DeviceError("products of integers take quantized weights only");
                else
                    launch_int8_weights_of<format.value>(some, weights, stream);
            });
            for (int first = 0; first < pieces; first += each) {
                Int8Args product{some, weights, x, scales};
                product.x += static_cast<std::int64_t>(first) * all.steps;
                product.x_scales += first * Shape::rows;
                TileArgs& tiles = product.tiles;
                tiles.pieces = min(each, pieces - first);
                MatmulArgs& a = tiles.matmul;
                a.rows = min(tiles.pieces * Shape::rows, rows - first * Shape::rows);
                a.workers = workers_of(tiles, multiprocessors / tiles.pieces);
                a.scratch = room.parts;
                a.out = static_cast<__half*>(args.out) +
                        static_cast<std::int64_t>(row + first * Shape::rows) * args.out_columns;
                // All blocks run at once also in pairs: a pair has the two multiprocessors of a TPC.
                if (tiles.pieces % 2 == 0)
                    launch_product<2>(product, stream);
                else
                    launch_product<1>(product, stream);
            }
        }
    }
}

}  // namespace voltpile::llm
