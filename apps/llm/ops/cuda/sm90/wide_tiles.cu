#include "base/error.h"
#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/sm90/warpgroup.cuh"
#include "llm/ops/cuda/sm90/wide_product.h"
#include "llm/ops/cuda/with_format.h"

namespace voltpile::llm {

namespace {

constexpr int arrange_threads = 256, rows_each = arrange_threads / 8;

// Brings x, (rows, columns), into the order in which wide_product() reads it, see launch_wide_tiles_of().
// Leaves out rows that do not exist. Grid: (steps, rows in groups of rows_each). One thread per row, step,
// and 16 columns that a product takes together: from each of the step's 4 units of 32 columns, the columns 4
// block to 4 block + 3. Lane 4 g + t of a warp multiplies by the products' columns 2 t, 2 t + 1, 2 t + 8 and
// 2 t + 9, and holds weights of unit t.
__global__ void __launch_bounds__(arrange_threads)
    arrange_x(const __half* x, int rows, int columns, int piece_rows, __half* out) {
    begin_after_earlier_kernels();
    const int block = static_cast<int>(threadIdx.x) % 8, step = static_cast<int>(blockIdx.x);
    const int row = static_cast<int>(blockIdx.y) * rows_each + static_cast<int>(threadIdx.x) / 8;
    if (row >= rows) return;
    const __half* from = x + static_cast<std::int64_t>(row) * columns;
    uint2 unit[4];
#pragma unroll
    for (int t = 0; t < 4; ++t) {
        const int column = step * step_columns + t * 32 + block * 4;
        unit[t] = make_uint2(0, 0);
        if (column < columns) unit[t] = *reinterpret_cast<const uint2*>(from + column);
    }
    const int r = row % piece_rows, piece = block % 4 * 2, steps = static_cast<int>(gridDim.x);
    const std::int64_t stage = static_cast<std::int64_t>(row / piece_rows) * steps + step;
    __half* to = out + stage * (piece_rows * step_columns) + block / 4 * (piece_rows * 64) + r * 64;
    *reinterpret_cast<uint4*>(to + swizzled(r, piece) * 8) =
        make_uint4(unit[0].x, unit[1].x, unit[2].x, unit[3].x);
    *reinterpret_cast<uint4*>(to + swizzled(r, piece + 1) * 8) =
        make_uint4(unit[0].y, unit[1].y, unit[2].y, unit[3].y);
}

void arrange(const void* x, int rows, int columns, int piece_rows, void* out, const Stream& stream) {
    launch_early(
        "arranging activations", arrange_x,
        {(columns + step_columns - 1) / step_columns, arrange_threads, 0, (rows + rows_each - 1) / rows_each},
        stream, static_cast<const __half*>(x), rows, columns, piece_rows, static_cast<__half*>(out));
}

// The shape of tiles: as few rows of x as take all, because more weights then share each x that is read.
struct Division {
    int slabs, weights, piece_rows;
};
Division division_for(int rows) {
    using Few = WideShape<2>;
    using Many = WideShape<1>;
    static_assert(wide_rows == Many::rows && Few::weights * Few::rows == Many::weights * Many::rows);
    return rows <= Few::rows ? Division{2, Few::weights, Few::rows} : Division{1, Many::weights, Many::rows};
}
int pieces(int rows, int piece_rows) {
    return (rows + piece_rows - 1) / piece_rows;
}
std::size_t x_bytes(const MatmulArgs& args, int rows, int piece_rows) {
    const int steps = (args.matrix[0].columns + step_columns - 1) / step_columns;
    return sizeof(std::uint16_t) * piece_rows * step_columns *
           static_cast<std::size_t>(pieces(rows, piece_rows) * steps);
}

std::size_t wide_scratch_bytes(const MatmulArgs& args, int rows, int piece_rows, int multiprocessors) {
    return x_bytes(args, rows, piece_rows) + 2 * sizeof(float) * WideShape<1>::weights * WideShape<1>::rows *
                                                 static_cast<std::size_t>(multiprocessors);
}

}  // namespace

// Multiplies as many rows at a time as fit in the scratch memory, the counters and the multiprocessors.
void launch_wide_tiles(const MatmulArgs& args, std::size_t scratch_bytes, int multiprocessors,
                       const Stream& stream) {
    const auto [slabs, weights, piece_rows] = division_for(args.rows);
    TileArgs tiles = tile_args(args, piece_rows, weights);
    const auto fits = [&, piece_rows = piece_rows](int rows) {
        return wide_scratch_bytes(args, rows, piece_rows, multiprocessors) <= scratch_bytes &&
               pieces(rows, piece_rows) <= multiprocessors &&
               tiles.tiles * pieces(rows, piece_rows) <= most_tiles;
    };
    const int all = pieces(args.rows, piece_rows), launches = (all + most_pieces - 1) / most_pieces;
    int each = (all + launches - 1) / launches * piece_rows;
    while (each > 0 && !fits(each)) each -= piece_rows;
    if (each == 0) throw DeviceError("a matrix product needs more scratch memory");
    for (int row = 0; row < args.rows; row += each) {
        MatmulArgs& some = tiles.matmul;
        some = args;
        some.rows = min(each, args.rows - row);
        tiles.pieces = pieces(some.rows, piece_rows);
        some.workers = workers_of(tiles, multiprocessors / tiles.pieces);
        some.x = args.scratch;
        some.scratch = args.scratch + x_bytes(args, some.rows, piece_rows);
        some.out = static_cast<std::uint8_t*>(args.out) +
                   static_cast<std::int64_t>(row) * args.out_columns * (args.out_float ? 4 : 2);
        const auto* x = static_cast<const std::uint8_t*>(args.x) +
                        static_cast<std::int64_t>(row) * args.matrix[0].columns * 2;
        arrange(x, some.rows, args.matrix[0].columns, piece_rows, args.scratch, stream);
        with_format(args.matrix[0].format, [&, slabs = slabs](auto format) {
            if constexpr (format.value == WeightFormat::F16)
                throw DeviceError("wide tiles take quantized weights only");
            else
                launch_wide_tiles_of<format.value>(tiles, slabs, stream);
        });
    }
}

}  // namespace voltpile::llm
