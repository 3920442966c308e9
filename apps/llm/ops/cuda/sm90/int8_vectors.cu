#include "llm/ops/cuda/sm90/int8_vectors.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "llm/ops/cuda/int8_rows.h"
#include "llm/ops/cuda/sm90/int8_vectors.cuh"

namespace voltpile::llm {

namespace {

// Stages of the ring for a row that blocks round themselves, and as many as leave some for weights.
int row_stages(const Rotation& rotation) {
    const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(padded(rotation.columns));
    return static_cast<int>((bytes + VectorShared::stage_bytes - 1) / VectorShared::stage_bytes);
}
constexpr int most_row_stages = 2;

// One on a multiprocessor.
int vector_blocks(const Int8VectorArgs& args, int multiprocessors) {
    return std::min(multiprocessors, args.eights / args.granule);
}

Int8VectorArgs vector_args(const MatmulArgs& args, int multiprocessors) {
    const IntegerWeights& integers = *args.integers;
    const TileArgs tiles = tile_args(args, matvec_rows, int8_tile_weights);
    Int8VectorArgs vector{};
    vector.matmul = args;
    vector.steps = tiles.steps;
    vector.weights = rows_in(reinterpret_cast<std::uint8_t*>(integers.copy.data()),
                             static_cast<std::size_t>(tiles.tiles) * int8_tile_weights, tiles.steps);
    for (int m = 0; m < args.matrices; ++m) vector.first_place[m] = tiles.first_tile[m] * int8_tile_weights;
    MatmulArgs& a = vector.matmul;
    if (args.apart) {  // as of one matrix, which has the rows of both in the order of the copy
        a.gated = false;
        a.matrices = 1;
        a.matrix[0].rows = 2 * args.matrix[0].rows;
    }
    // The copy has eight rows of the gate, eight of up, and so on.
    vector.granule = a.gated ? 2 : 1;
    for (int m = 0; m < a.matrices; ++m)
        vector.first_eight[m + 1] =
            vector.first_eight[m] + vector.granule * ((a.matrix[m].rows + eight - 1) / eight);
    vector.eights = vector.first_eight[a.gated ? 1 : a.matrices];
    const int granules = vector.eights / vector.granule, blocks = vector_blocks(vector, multiprocessors);
    vector.granules_each = granules / blocks;
    vector.larger = granules % blocks;
    const int largest = (granules + blocks - 1) / blocks * vector.granule;
    vector.chunks = (largest + stage_eights - 1) / stage_eights;
    vector.chunk_eights = (largest + vector.chunks - 1) / vector.chunks;
    vector.stage_steps = std::min(vector_units / units_of(vector.chunk_eights), vector.steps);
    vector.chunk_stages = (vector.steps + vector.stage_steps - 1) / vector.stage_steps;
    vector.rotation = integers.rotation;
    vector.divisor = hadamard_divisor(integers.rotation.factors);
    return vector;
}

// The rows of x that the kernel computes.
int padded_rows(const MatmulArgs& args) {
    return static_cast<int>(std::bit_ceil(static_cast<unsigned>(args.rows)));
}

template <int R, int factors>
void launch_vectors(const Int8VectorArgs& args, int multiprocessors, const Stream& stream) {
    const VectorShared shared(args, R);
    const auto kernel = int8_vectors<R, factors>;
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared.bytes)),
               "shared memory of a product of integers");
    launch_early("matrix-vector product of integers", kernel,
                 {vector_blocks(args, multiprocessors), vector_threads, shared.bytes}, stream, args);
}

bool rounds_row(const MatmulArgs& args) {
    const Rotation& rotation = args.integers->rotation;
    if (args.rows > 1 || row_stages(rotation) > most_row_stages) return false;
    bool fits = args.norm.x == nullptr;
    if (!fits && args.norm.delta == nullptr)
        with_factors(rotation, [&](auto factors) {
            fits = threads_with_norm<factors>(rotation.columns) <= vector_threads;
        });
    return fits;
}

}  // namespace

bool takes_int8_vectors(const MatmulArgs& args, int multiprocessors) {
    constexpr std::size_t most_bytes = 226 * 1024;  // a block can have 227 KB
    if (args.rows > matvec_rows) return false;
    return VectorShared(vector_args(args, multiprocessors), padded_rows(args)).bytes <= most_bytes;
}

void launch_int8_vectors(const MatmulArgs& args, std::size_t scratch_bytes, int multiprocessors,
                         const Stream& stream) {
    Int8VectorArgs vector = vector_args(args, multiprocessors);
    if (rounds_row(args)) {
        vector.row_stages = row_stages(vector.rotation);
        return with_factors(vector.rotation, [&](auto factors) {
            launch_vectors<1, factors>(vector, multiprocessors, stream);
        });
    }
    const int each = padded_rows(args);
    if (bytes_of_rows(static_cast<std::size_t>(each), vector.steps) > scratch_bytes)
        throw DeviceError("a matrix product needs more scratch memory");
    vector.x = rows_in(args.scratch, static_cast<std::size_t>(each), vector.steps);
    const Int8Places places{vector.x, each, 0, false};
    if (args.norm.x == nullptr)
        launch_int8_rows(args.x, args.rows, vector.rotation, places, stream);
    else
        launch_normed_int8_rows(args.norm, args.rows, vector.rotation, places, stream);
    switch (each) {
        case 1:
            return launch_vectors<1, 0>(vector, multiprocessors, stream);
        case 2:
            return launch_vectors<2, 0>(vector, multiprocessors, stream);
        default:
            static_assert(matvec_rows == 4);
            return launch_vectors<4, 0>(vector, multiprocessors, stream);
    }
}

}  // namespace voltpile::llm
