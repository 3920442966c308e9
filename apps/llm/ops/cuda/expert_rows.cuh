// Products with experts of few rows each. An item is a warp's tile of an expert's matrix times a piece of its
// pairs, over all columns. Warps are independent of each other: each goes through its own items, brings its
// own weights, steps ahead of their use and across the ends of items, and reads x through the L1 cache. A
// result is the same, bit by bit, as that of expert_tiles.cuh.
#pragma once

#include "llm/model/model_config.h"
#include "llm/ops/cuda/expert_pieces.cuh"
#include "llm/ops/cuda/tile_product.cuh"

namespace voltpile::llm {

// Whether asynchronous copies bring weights to shared memory, on GPUs that have 228 KB of it, instead of
// loads to registers. There, `ahead` steps of a warp's weights and `blocks` blocks fit on a multiprocessor.
// rows: of a warp's tile: warp_weights, or half of them while so many would leave warps without an item.
template <WeightFormat format, int rows>
struct StagedExpertRows {
    using Stage = StagedWeights<format, rows>;
    static constexpr bool used = format != WeightFormat::F16;
    static constexpr std::size_t room = 208 * 1024;  // beside tables of pieces and grids
    static constexpr std::size_t step_bytes = sizeof(Stage) * tile_warps;
    // Three steps of warp_weights, or as many bytes: with four, less would be left for the L1 cache, which x
    // comes through. Of smaller tiles one less if four blocks would not fit.
    static constexpr int most_ahead = 3 * warp_weights / rows;
    static constexpr int ahead =
        most_ahead - (rows < warp_weights && 4 * most_ahead * step_bytes > room ? 1 : 0);
    static constexpr int blocks = 4 * ahead * step_bytes <= room ? 4 : 3;
    static constexpr std::size_t bytes = ahead * step_bytes;
};
// Returns the blocks on a multiprocessor. alone: copies_run_alone, device_copies_alone(); staged:
// weights_are_staged, device_stages_weights().
template <WeightFormat format, int rows>
__host__ __device__ constexpr int expert_rows_blocks(bool alone, bool staged) {
    if (staged && StagedExpertRows<format, rows>::used) return StagedExpertRows<format, rows>::blocks;
    return alone && format != WeightFormat::F16 ? 3 : tile_blocks_each;
}

// A piece in one word, so that a table of all pieces fits in shared memory.
struct PackedPiece {
    static constexpr int most_pairs = 1 << 16, most_experts = 1 << 12;
    static_assert(kMostExperts <= most_experts && (x_group + 1) * kMostExperts / 2 <= most_pairs);
    std::uint32_t word = 0;
    __device__ static PackedPiece of(int begin, int expert, int rows) {
        return {static_cast<std::uint32_t>(begin | expert << 16) | static_cast<std::uint32_t>(rows - 1)
                                                                       << 28};
    }
    __device__ int begin() const { return static_cast<int>(word % most_pairs); }
    __device__ int expert() const { return static_cast<int>(word >> 16) % most_experts; }
    __device__ int rows() const { return static_cast<int>(word >> 28) + 1; }
};

// The items of a warp, one of each round. In the last round they go to the first warps of all blocks, then to
// the second ones, and so on: so each multiprocessor has as many, wherever blocks run. In the rounds before,
// warps of a block have items next to each other.
__device__ __forceinline__ int item_of_round(int round, int items) {
    const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    const int warp = static_cast<int>(threadIdx.x) / 32, before = round * blocks * tile_warps;
    return before +
           (before + blocks * tile_warps <= items ? block * tile_warps + warp : warp * blocks + block);
}

template <bool gated, int rows>
constexpr int warp_outputs = gated ? rows / 2 : rows;

// What is the same for all items of a product.
template <bool gated, int rows>
struct ExpertItems {
    const ExpertArgs& args;
    const PackedPiece* pieces;  // shared memory
    int first_output, tiles, items;
    unsigned reciprocal;  // 2^32 / tiles, rounded up; 0 if tiles is 1

    __device__ ExpertItems(const ExpertArgs& args, const PackedPiece* pieces, int count)
        : args(args), pieces(pieces) {
        constexpr int each = gated ? gated_tile_columns : tile_columns;
        first_output = args.first_tile * each;
        const int outputs = min(args.tiles * each, args.matrix[0].first.rows - first_output);
        tiles = (outputs + warp_outputs<gated, rows> - 1) / warp_outputs<gated, rows>;
        items = count * tiles;
        reciprocal = 0xffffffffu / static_cast<unsigned>(tiles) + 1;
    }
    // Returns item / tiles.
    __device__ int piece_index(int item) const {
        if (reciprocal == 0) return item;
        const int index = static_cast<int>(__umulhi(static_cast<unsigned>(item), reciprocal));
        return index * tiles > item ? index - 1 : index;  // rounding adds at most 1
    }
    __device__ PackedPiece piece(int item) const { return pieces[piece_index(item)]; }
    __device__ int first_row(int item) const {
        return first_output + (item - piece_index(item) * tiles) * warp_outputs<gated, rows>;
    }
    __device__ DeviceMatrix matrix(int m, int expert) const {
        return shifted(args.matrix[m].first, shift_of(args.matrix[m], expert));
    }
};

// The next `ahead` steps of a warp's weights, copied asynchronously to shared memory.
template <WeightFormat format, bool gated, int rows, bool staged>
class WeightSteps {
  public:
    static constexpr int ahead = StagedExpertRows<format, rows>::ahead;
    // How far the loop over steps is unrolled: not at all, which leaves registers for the next kernel to
    // start in.
    static constexpr int unrolled = 1;
    using Stage = typename StagedExpertRows<format, rows>::Stage;

    __device__ explicit WeightSteps(std::uint8_t* shared)
        : stages_(reinterpret_cast<Stage*>(shared) + threadIdx.x / 32 * ahead) {}
    __device__ void go_to(const DeviceMatrix& weights, const DeviceMatrix& up, int first_row) {
        source_.go_to(weights, up, first_row);
    }
    // Starts loading a step into place d. Call it for every step, wanted or not: wait() counts the calls.
    __device__ __forceinline__ void ask_for(int step, int d, bool wanted) {
        if (wanted) source_.copy(step, stages_[d]);
        end_of_copies();
    }
    // Waits for the oldest of the ahead - 1 steps still being loaded.
    __device__ __forceinline__ void wait() {
        wait_for_earlier_copies<ahead - 2>();
        __syncwarp();
    }
    __device__ __forceinline__ void get(int d, typename RowUnit<format>::Raw (&raw)[rows / 8]) const {
        read_staged<format, rows>(stages_[d], raw);
    }

  private:
    Stage* stages_;
    WarpWeights<format, gated, rows> source_;
};
// The same in registers.
template <WeightFormat format, bool gated>
class WeightSteps<format, gated, warp_weights, false> {
  public:
    static constexpr int ahead = 2, unrolled = ahead;
    using Unit = RowUnit<format>;

    __device__ explicit WeightSteps(std::uint8_t*) {}
    __device__ void go_to(const DeviceMatrix& weights, const DeviceMatrix& up, int first_row) {
#pragma unroll
        for (int h = 0; h < 2; ++h)
            half_[h] = gated && WarpProduct::row(h * lane_units / 2) >= 16 ? up : weights;
        first_row_ = first_row;
    }
    __device__ __forceinline__ void ask_for(int step, int d, bool wanted) {
        if (!wanted) return;
        const int last_unit = half_[0].columns / 32 - 1;
#pragma unroll
        for (int i = 0; i < lane_units; ++i) {
            const DeviceMatrix& w = half_[i / (lane_units / 2)];
            const int r = WarpProduct::row(i), row = min(first_row_ + (gated ? r % 16 : r), w.rows - 1);
            raw_[d][i] = Unit::load(w, row, min(step * lane_units + WarpProduct::unit(i), last_unit));
        }
    }
    __device__ __forceinline__ void wait() {}
    __device__ __forceinline__ void get(int d, typename Unit::Raw (&raw)[lane_units]) const {
#pragma unroll
        for (int i = 0; i < lane_units; ++i) raw[i] = raw_[d][i];
    }

  private:
    DeviceMatrix half_[2];  // of the lane's units
    int first_row_ = 0;
    typename Unit::Raw raw_[ahead][lane_units];
};

// One step of the row of x that a lane multiplies. Lanes beyond the rows of a piece read the last one again,
// and their results are not stored. On compute capability 7.0 each lane needs the whole row, which is
// therefore read only when it is used. whole: has_whole_steps.
template <bool whole>
class RowOfX {
  public:
    // row: a row of `columns` numbers.
    __device__ void go_to(const __half* row, int columns) {
        from_ = row;
        units_ = columns / 32;
    }
    __device__ __forceinline__ void load(int step) {
        step_ = step;
        if constexpr (held) {
#pragma unroll
            for (int piece = 0; piece < 4; ++piece) v_[piece] = read(WarpProduct::unit(0), piece);
        }
    }
    // Piece `piece` of 8 columns of the lane's unit i.
    __device__ __forceinline__ uint4 operator()(int, int i, int piece) const {
        if constexpr (held) return v_[piece];
        return read(WarpProduct::unit(i), piece);
    }

  private:
    static constexpr bool held = WarpProduct::one_unit_of_x;
    __device__ __forceinline__ uint4 read(int unit_of_step, int piece) const {
        int unit = step_ * lane_units + unit_of_step;
        if constexpr (!held) forget_origin(unit);  // registers do not suffice for addresses of several units
        return load_or_zero(from_ + unit * 32 + piece * 8, whole || unit < units_);
    }
    const __half* from_ = nullptr;
    int units_ = 0, step_ = 0;
    uint4 v_[4];
};

template <WeightFormat format, bool gated, int rows>
__device__ __forceinline__ void multiply_expert_rows(const ExpertArgs& args, int pieces_at) {
    using Steps =
        WeightSteps<format, gated, rows, weights_are_staged && StagedExpertRows<format, rows>::used>;
    constexpr int ahead = Steps::ahead;
    extern __shared__ __align__(32) std::uint8_t shared[];
    __shared__ int count;
    auto* const pieces = reinterpret_cast<PackedPiece*>(shared + pieces_at);
    const Routing& routing = args.routing;
    const int columns = args.matrix[0].first.columns, steps = (columns + step_columns - 1) / step_columns;

    bring_grid<format>(args.matrix[0].first.format);
    // The gated product waits first and then lets the next kernel begin. So the routing is complete when the
    // down product begins, which loads its first weights while the gated product still runs.
    if constexpr (gated) wait_for_earlier_kernels();
    let_next_kernel_begin();
    if (threadIdx.x < 32) {
        const int counted =
            count_pieces(routing, x_group, [&](int e, int first, int mine, int pair, int end) {
                for (int i = 0; i < mine; ++i) {
                    const int begin = pair + i * x_group;
                    pieces[first + i] = PackedPiece::of(begin, e, min(x_group, end - begin));
                }
            });
        if (threadIdx.x == 0) count = counted;
    }
    __syncthreads();
    const ExpertItems<gated, rows> all(args, pieces, count);

    // The item and step whose weights are loaded next; it may be ahead of the item being multiplied.
    Steps weights(shared);
    int next_round = 0, next_step = 0, next = item_of_round(0, all.items);
    const auto go_to_next = [&] {
        if (next >= all.items) return;
        const int expert = all.piece(next).expert();
        weights.go_to(all.matrix(0, expert), all.matrix(gated ? 1 : 0, expert), all.first_row(next));
    };
    const auto ask = [&](int d) {
        weights.ask_for(next_step, d, next < all.items);
        if (++next_step < steps) return;
        next_step = 0;
        next = item_of_round(++next_round, all.items);
        go_to_next();
    };
    go_to_next();
#pragma unroll Steps::unrolled
    for (int d = 0; d < ahead - 1; ++d) ask(d);
    if constexpr (!gated) wait_for_earlier_kernels();

    RowOfX<has_whole_steps<format>> x;
    float sum[1][rows / 4];
    int round = 0, step = 0, item = item_of_round(0, all.items);
    const auto begin_item = [&] {
#pragma unroll
        for (float& each : sum[0]) each = 0;
        step = 0;
        if (item >= all.items) return;
        const PackedPiece piece = all.piece(item);
        const int pair = piece.begin() + min(WarpProduct::x_row(), piece.rows() - 1);
        const __half* const row = static_cast<const __half*>(args.x) +
                                  static_cast<std::int64_t>(gated ? routing.row[pair] : pair) * columns;
        x.go_to(row, columns);
        x.load(0);
    };
    begin_item();
    int oldest = 0;
    while (item < all.items) {
#pragma unroll
        for (int i = 0; i < Steps::unrolled; ++i) {
            if (item >= all.items) break;
            const int d = Steps::unrolled > 1 ? i : oldest;
            oldest = d + 1 < ahead ? d + 1 : 0;
            weights.wait();
            ask(d > 0 ? d - 1 : ahead - 1);
            typename RowUnit<format>::Raw raw[rows / 8];
            weights.get(d, raw);
            WarpProduct::multiply_by<format>(raw, x, sum);
            if (++step < steps) {
                x.load(step);
                continue;
            }
            const PackedPiece piece = all.piece(item);
            store_products<gated>(args, all.first_row(item), piece.begin(), piece.begin() + piece.rows(),
                                  piece.expert(), sum);
            item = item_of_round(++round, all.items);
            begin_item();
        }
    }
    wait_for_copies();
}

// rows: half of warp_weights only where weights are staged.
template <WeightFormat format, bool gated, int rows>
__global__ void __launch_bounds__(tile_threads,
                                  expert_rows_blocks<format, rows>(copies_run_alone, weights_are_staged))
    expert_rows(const ExpertArgs args, int pieces_at) {
    if constexpr (rows == warp_weights || weights_are_staged)
        multiply_expert_rows<format, gated, rows>(args, pieces_at);
}

template <WeightFormat format, int rows>
void launch_expert_rows_in(const ExpertArgs& args, int pieces, int multiprocessors, const Stream& stream) {
    const bool alone = device_copies_alone(), staged = device_stages_weights();
    const std::size_t pieces_at =
        staged && StagedExpertRows<format, rows>::used ? StagedExpertRows<format, rows>::bytes : 0;
    const std::size_t bytes = pieces_at + static_cast<std::size_t>(pieces) * sizeof(PackedPiece);
    const auto kernel = args.gated ? expert_rows<format, true, rows> : expert_rows<format, false, rows>;
    cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "shared memory of a product with experts");
    const int blocks = min(expert_rows_blocks<format, rows>(alone, staged) * multiprocessors,
                           pieces * args.tiles * (warp_weights / rows));
    launch_early("product of few rows with experts", kernel, {blocks, tile_threads, bytes}, stream, args,
                 static_cast<int>(pieces_at));
}

template <WeightFormat format>
void launch_expert_rows_of(const ExpertArgs& args, int multiprocessors, const Stream& stream) {
    static_assert(tile_columns == tile_warps * warp_outputs<false, warp_weights>);
    static_assert(gated_tile_columns == tile_warps * warp_outputs<true, warp_weights>);
    const int pairs = args.rows * args.routing.used, experts = args.routing.experts;
    const int pieces = min(pairs, min(pairs, experts) + pairs / x_group);
    // Tiles of half as many rows while each warp has at most 1.5 in gated products and 1.25 in others
    // (measured).
    constexpr int half = warp_weights / 2;
    if constexpr (StagedExpertRows<format, half>::used) {
        const int most = StagedExpertRows<format, half>::blocks * multiprocessors;
        if (device_stages_weights() && 2 * pieces * args.tiles <= most * (args.gated ? 6 : 5) / 4)
            return launch_expert_rows_in<format, half>(args, pieces, multiprocessors, stream);
    }
    launch_expert_rows_in<format, warp_weights>(args, pieces, multiprocessors, stream);
}

}  // namespace voltpile::llm
