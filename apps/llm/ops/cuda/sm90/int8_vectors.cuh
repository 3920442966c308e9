// The kernel of matrix-vector products of integers, with copies of weights whose order suits tensor cores
// (int8_shape.h): in steps of 128 columns, neighboring rows of weights are adjacent in memory.
//
// A block has a multiprocessor to itself and an equal share of the rows, counted in eights, in chunks of as
// many as a stage of its ring can hold; a stage has one or more steps of a chunk. A warp fills the ring by
// bulk copies, the others multiply. The ring takes what memory brings while the kernel before ends and x is
// rotated and rounded. Sums of integers do not depend on their order.
#pragma once

#include "llm/ops/cuda/async_copy.cuh"
#include "llm/ops/cuda/int8_row.cuh"
#include "llm/ops/cuda/int8_shape.h"
#include "llm/ops/cuda/sm90/stage_ring.cuh"

namespace voltpile::llm {

constexpr int eight = 8;         // rows of weights
constexpr int eights_each = 4;   // of a step, that a thread has a row of
constexpr int vector_units = 8;  // of so many threads that multiply: 8 rows with 8 pieces of 16 bytes
constexpr int unit_threads = eight * step_columns / 16;
constexpr int multiplying_threads = vector_units * unit_threads, multiplying_warps = multiplying_threads / 32;
constexpr int vector_threads = multiplying_threads + 32;
constexpr int stage_eights = vector_units * eights_each, eight_bytes = eight * step_columns;
constexpr int ring_stages = 5;

struct Int8VectorArgs {
    MatmulArgs matmul;
    Int8Rows weights;
    // Of the matrices among the rows of the copy, and among the eights that are shared out.
    int first_place[3], first_eight[4];
    int eights, steps;
    // Blocks share out granules of so many eights: the first `larger` blocks have one more than the others.
    int granule, granules_each, larger;
    // A block has chunks of so many eights, the last ones fewer or none. A stage has so many steps of a
    // chunk, the last one of a chunk fewer.
    int chunks, chunk_eights, stage_steps, chunk_stages;
    int row_stages;
    Int8Rows x;  // if it is already rounded: of R rows each
    Rotation rotation;
    float divisor;

    __host__ __device__ int most_places() const { return chunks * chunk_eights * eight; }
    // Of x, with zeros for steps that do not exist.
    __host__ __device__ int columns() const { return chunk_stages * stage_steps * step_columns; }
};
// Units of a step of a chunk.
__host__ __device__ constexpr int units_of(int eights) {
    return (eights + eights_each - 1) / eights_each;
}

// The eights of a block.
struct VectorShare {
    int first, count;
    __device__ VectorShare(const Int8VectorArgs& args, int block)
        : first((block * args.granules_each + min(block, args.larger)) * args.granule),
          count((args.granules_each + (block < args.larger ? 1 : 0)) * args.granule) {}
    // Of a chunk; may be less than 1.
    __device__ int of_chunk(const Int8VectorArgs& args, int chunk) const {
        return min(args.chunk_eights, count - chunk * args.chunk_eights);
    }
};

// Shared memory of a block, in bytes from its beginning. A row that the block rounds is at the end of the
// ring, in `row_stages` stages.
struct VectorShared {
    static constexpr int stage_bytes = stage_eights * eight_bytes;
    std::size_t x, sums, scale, bytes;

    // rows: of x.
    __host__ __device__ VectorShared(const Int8VectorArgs& args, int rows)
        : x(std::size_t{ring_stages} * stage_bytes),
          sums(x + static_cast<std::size_t>(rows) * static_cast<std::size_t>(args.columns())),
          scale(sums + sizeof(int) * static_cast<std::size_t>(rows * args.most_places())),
          bytes(scale + sizeof(float) * static_cast<std::size_t>(args.most_places())) {}
};

__device__ __forceinline__ int matrix_of(const Int8VectorArgs& args, int of_eight) {
    if (args.matmul.gated) return 0;
    return (args.matmul.matrices > 1 && of_eight >= args.first_eight[1]) +
           (args.matmul.matrices > 2 && of_eight >= args.first_eight[2]);
}
// The first row of an eight in the copy.
__device__ __forceinline__ int place_of_eight(const Int8VectorArgs& args, int of_eight) {
    const int m = matrix_of(args, of_eight);
    return (of_eight - args.first_eight[m]) * eight + args.first_place[m];
}

// A lane of the warp that fills the ring: one of the copies of each stage, of a part of a chunk that is
// contiguous in memory. A stage has at most as many as eights.
class VectorSource {
  public:
    __device__ VectorSource(const Int8VectorArgs& args, const VectorShare& share,
                            RingBarriers<ring_stages>& ring, std::uint8_t* stages)
        : args_(args),
          share_(share),
          ring_(ring),
          stages_(stages),
          lane_(static_cast<int>(threadIdx.x) % 32) {
        find_part();
    }
    __device__ __forceinline__ bool done() const { return chunk_ == args_.chunks; }
    __device__ __forceinline__ void wait_for_room() { ring_.empty[place_.at].wait(place_.parity ^ 1); }
    // The next stage. All lanes call it.
    __device__ __forceinline__ void copy() {
        PhaseBarrier& full = ring_.full[place_.at];
        const int steps = min(args_.stage_steps, args_.steps - step_);
        if (lane_ == 0) {
            full.expect(steps * chunk_bytes_);
            full.arrive();
        }
        __syncwarp();
        if (my_step_ < steps) full.copy(stages_ + place_.at * VectorShared::stage_bytes + to_, from_, bytes_);
        from_ += args_.stage_steps * half * step_columns;
        place_.advance();
        step_ += args_.stage_steps;
        if (step_ < args_.steps) return;
        step_ = 0;
        ++chunk_;
        if (!done()) find_part();
    }

  private:
    static constexpr int half = int8_half_weights;
    static constexpr int none = 1 << 30;

    __device__ int end_of_matrix(int of_eight) const {
        return args_.matmul.gated ? args_.eights : args_.first_eight[matrix_of(args_, of_eight) + 1];
    }
    // Of the chunk.
    __device__ void find_part() {
        const int begin = share_.first + chunk_ * args_.chunk_eights,
                  eights = max(share_.of_chunk(args_, chunk_), 0);
        chunk_bytes_ = eights * eight_bytes;
        my_step_ = none;
        int lane = lane_;
        for (int e = 0; e < eights;) {
            const int at = begin + e, place = place_of_eight(args_, at);
            const int count = min(min(end_of_matrix(at) - at, eights - e), (half - place % half) / eight);
            if (lane >= 0 && lane < args_.stage_steps) {
                my_step_ = lane;
                from_ =
                    args_.weights.quants +
                    ((static_cast<std::int64_t>(place / half) * args_.steps + lane) * half + place % half) *
                        step_columns;
                to_ = (lane * args_.chunk_eights + e) * eight_bytes;
                bytes_ = count * eight_bytes;
            }
            lane -= args_.stage_steps;
            e += count;
        }
    }

    const Int8VectorArgs& args_;
    const VectorShare& share_;
    RingBarriers<ring_stages>& ring_;
    std::uint8_t* stages_;
    RingPlace<ring_stages> place_;
    int lane_, chunk_ = 0, step_ = 0, chunk_bytes_ = 0;
    const std::int8_t* from_ = nullptr;
    int my_step_ = none, to_ = 0, bytes_ = 0;
};

// A thread that multiplies, with R rows of x: its row and piece of some eights of a step, all of which take
// the same piece of x.
template <int R>
class VectorSums {
  public:
    __device__ VectorSums(const Int8VectorArgs& args) : args_(args) {
        const int units = units_of(args.chunk_eights);
        int unit = static_cast<int>(threadIdx.x) / unit_threads;
        works_ = unit < args.stage_steps * units;
        if (!works_) unit = 0;
        step_ = unit / units;
        first_ = unit % units * eights_each;
    }
    // Of all stages. x: (R, args.columns()), sums: (R, args.most_places()), zeros.
    __device__ __forceinline__ void multiply(const VectorShare& share, RingBarriers<ring_stages>& ring,
                                             const std::uint8_t* stages, const std::uint8_t* x,
                                             int* sums) const {
        const int columns = args_.columns();
        stages += (step_ * args_.chunk_eights + first_) * eight_bytes + threadIdx.x % unit_threads * 16;
        x += step_ * step_columns + swizzled(row(), piece()) * 16;
        RingPlace<ring_stages> place;
        for (int chunk = 0; chunk < args_.chunks; ++chunk) {
            const std::uint8_t* my_x = x;
            int sum[eights_each][R] = {};
#pragma unroll 1
            for (int s = 0; s < args_.chunk_stages; ++s) {
                uint4 v[R];
#pragma unroll
                for (int r = 0; r < R; ++r) v[r] = *reinterpret_cast<const uint4*>(my_x + r * columns);
                my_x += args_.stage_steps * step_columns;
                ring.full[place.at].wait(place.parity);
                const std::uint8_t* const w = stages + place.at * VectorShared::stage_bytes;
#pragma unroll
                for (int e = 0; e < eights_each; ++e) {
                    const uint4 mine = *reinterpret_cast<const uint4*>(w + e * eight_bytes);
#pragma unroll
                    for (int r = 0; r < R; ++r) sum[e][r] = dot(mine, v[r], sum[e][r]);
                }
                __syncwarp();
                ring.empty[place.at].arrive_if(threadIdx.x % 32 == 0);
                place.advance();
            }
            put(share.of_chunk(args_, chunk), sum, sums + chunk * args_.chunk_eights * eight);
        }
    }

  private:
    __device__ __forceinline__ static int row() {
        return static_cast<int>(threadIdx.x) / 8 % eight;
    }
    __device__ __forceinline__ static int piece() {
        return static_cast<int>(threadIdx.x) % 8;
    }
    // Of the products of 16 columns.
    __device__ __forceinline__ static int dot(const uint4& w, const uint4& x, int sum) {
        sum = __dp4a(static_cast<int>(w.x), static_cast<int>(x.x), sum);
        sum = __dp4a(static_cast<int>(w.y), static_cast<int>(x.y), sum);
        sum = __dp4a(static_cast<int>(w.z), static_cast<int>(x.z), sum);
        return __dp4a(static_cast<int>(w.w), static_cast<int>(x.w), sum);
    }
    // Adds what 8 lanes have of the rows of a chunk.
    __device__ __forceinline__ void put(int eights, int (&sum)[eights_each][R], int* sums) const {
#pragma unroll
        for (int e = 0; e < eights_each; ++e) {
#pragma unroll
            for (int r = 0; r < R; ++r) {
#pragma unroll
                for (int offset = 4; offset > 0; offset /= 2)
                    sum[e][r] += __shfl_xor_sync(0xffffffffu, sum[e][r], offset);
                if (piece() == 0 && works_ && first_ + e < eights)
                    atomicAdd(sums + r * args_.most_places() + (first_ + e) * eight + row(), sum[e][r]);
            }
        }
    }

    const Int8VectorArgs& args_;
    bool works_;
    int step_, first_;
};

// Brings R rounded rows to shared memory, in the order of their columns.
template <int R>
__device__ __forceinline__ void bring_rows(const Int8VectorArgs& args, int columns, std::uint8_t* x,
                                           float* scale) {
    wait_for_earlier_kernels();
    const auto* const from = reinterpret_cast<const uint4*>(args.x.quants);
    constexpr int pieces = step_columns / 16;
    for (int i = static_cast<int>(threadIdx.x); i < R * columns / 16; i += vector_threads) {
        const int piece = i % pieces, r = i / pieces % R, step = i / (pieces * R);
        reinterpret_cast<uint4*>(x + r * columns + step * step_columns)[swizzled(r, piece)] =
            step < args.steps ? from[i] : make_uint4(0, 0, 0, 0);
    }
    if (threadIdx.x < R) scale[threadIdx.x] = args.x.scale[threadIdx.x];
}

// Starts to copy a number to shared memory.
__device__ __forceinline__ void copy_number(float* shared, const float* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(shared)), "l"(from)
                 : "memory");
}

// The outputs of a block: those of a row of x after those of the one before.
struct VectorOutputs {
    const Int8VectorArgs& args;
    int first, each, count;  // each: of a row of x

    __device__ VectorOutputs(const Int8VectorArgs& vector, const VectorShare& share, int rows)
        : args(vector),
          first(share.first),
          each(share.count * eight / (vector.matmul.gated ? 2 : 1)),
          count(rows * each) {}
    __device__ int row_of_x(int i) const { return i / each; }
    __device__ int matrix(int i) const { return matrix_of(args, first + i % each / eight); }
    // Of its matrix.
    __device__ int row(int i) const {
        if (args.matmul.gated) return i % each + first * eight / 2;
        return i % each + (first - args.first_eight[matrix(i)]) * eight;
    }
    // Whether it exists.
    __device__ bool has(int i) const {
        return i < count && row_of_x(i) < args.matmul.rows && row(i) < args.matmul.matrix[matrix(i)].rows;
    }
    __device__ float* to_float(int i) const { return static_cast<float*>(args.matmul.out) + place(i); }
    __device__ __half* to_half(int i) const { return static_cast<__half*>(args.matmul.out) + place(i); }

  private:
    __device__ std::int64_t place(int i) const {
        return static_cast<std::int64_t>(row_of_x(i)) * args.matmul.out_columns +
               args.matmul.out_begin[matrix(i)] + row(i);
    }
};

// x that the block rounds itself; or nothing, with factors == 0.
template <int factors>
struct RowOf : Int8Row<factors> {
    __device__ explicit RowOf(const Int8VectorArgs& args)
        : Int8Row<factors>(args.rotation, args.matmul.norm.x != nullptr ? &args.matmul.norm : nullptr) {}
};
template <>
struct RowOf<0> {
    __device__ explicit RowOf(const Int8VectorArgs&) {}
};

// factors: of the rotation if the block rounds x itself (R == 1), or 0.
template <int R, int factors>
__global__ void __launch_bounds__(vector_threads, 1)
    int8_vectors(const __grid_constant__ Int8VectorArgs args) {
    extern __shared__ __align__(128) std::uint8_t memory[];
    __shared__ RingBarriers<ring_stages> ring;
    __shared__ float x_scale[R];
    const MatmulArgs& matmul = args.matmul;
    const int mine = static_cast<int>(threadIdx.x);
    const VectorShare share(args, static_cast<int>(blockIdx.x));
    const VectorShared at(args, R);
    std::uint8_t* const x = memory + at.x;
    int* const sums = reinterpret_cast<int*>(memory + at.sums);
    float* const scale = reinterpret_cast<float*>(memory + at.scale);

    // Small loads first: behind the weights they would take longer.
    const RowOf<factors> of_row(args);
    const int places = share.count * eight;
    for (int i = mine; i < places; i += vector_threads)
        copy_number(scale + i,
                    args.weights.scale + place_of_eight(args, share.first + i / eight) + i % eight);
    VectorSource source(args, share, ring, memory);
    if (mine >= multiplying_threads) {
        if (mine == multiplying_threads) {
            ring.start(1, multiplying_warps);
            show_to_products();
        }
        __syncwarp();
        for (int s = 0; s < ring_stages - args.row_stages && !source.done(); ++s) source.copy();
    }
    for (int i = mine; i < R * args.most_places(); i += vector_threads) sums[i] = 0;
    if constexpr (factors > 0) {
        static_assert(R == 1);
        float* const row =
            reinterpret_cast<float*>(memory + (ring_stages - args.row_stages) * VectorShared::stage_bytes);
        if (matmul.norm.x != nullptr)
            of_row.load_normed(matmul.norm, 0, blockIdx.x == 0, row);
        else
            of_row.load(static_cast<const __half*>(matmul.x), row);
        const float of_x = of_row.round(
            row, args.columns(), args.divisor,
            [&](int column, const uint4& bytes) { *reinterpret_cast<uint4*>(x + column) = bytes; });
        if (mine == 0) x_scale[0] = of_x;
        show_to_products();  // copies overwrite the row
    } else {
        bring_rows<R>(args, args.columns(), x, x_scale);
    }
    __syncthreads();
    const VectorOutputs outputs(args, share, R);
    // What the thread adds to first: loaded before it is needed.
    const float before = matmul.adds && outputs.has(mine) ? *outputs.to_float(mine) : 0;
    if (mine < multiplying_threads) {
        VectorSums<R>(args).multiply(share, ring, memory, x, sums);
    } else {
        for (int s = 0; s < args.row_stages && !source.done(); ++s) source.copy();
        while (!source.done()) {
            source.wait_for_room();
            source.copy();
        }
        // As in int8_product.cuh. With one row, there is no kernel in between that rounds x.
        if constexpr (R > 1) ring.wait_for_last(args.chunks * args.chunk_stages);
        let_next_kernel_begin();
    }
    wait_for_copies();
    __syncthreads();
    const auto number = [&](int r, int place) {
        return static_cast<float>(sums[r * args.most_places() + place]) * (scale[place] * x_scale[r]);
    };
    for (int i = mine; i < outputs.count; i += vector_threads) {
        if (!outputs.has(i)) continue;
        const int r = outputs.row_of_x(i), o = i % outputs.each;
        float result = 0;
        if (matmul.gated) {
            const int place = o / eight * 2 * eight + o % eight;
            result = gated_value(matmul.activation, number(r, place), number(r, place + eight));
        } else {
            result = number(r, o);
        }
        if (!matmul.out_float) {
            *outputs.to_half(i) = limited_half(result, matmul.limit);
            continue;
        }
        float* const out = outputs.to_float(i);
        if (matmul.adds) {
            // Rounded like a sum of what is stored, not fused with the product.
            const float added = __fadd_rn(i == mine ? before : *out, result);
            *out = matmul.bias != nullptr ? __fadd_rn(added, matmul.bias[outputs.row(i)]) : added;
        } else {
            *out = result;
        }
    }
}

}  // namespace voltpile::llm
