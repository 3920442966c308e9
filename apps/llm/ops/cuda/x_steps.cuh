// Brings the rows of x of a tiled product into shared memory, step by step.
#pragma once

#include "llm/ops/cuda/async_copy.cuh"
#include "llm/ops/cuda/tiles.cuh"

namespace voltpile::llm {

// Returns the number of buffers: one step is read while the next ones arrive.
__host__ __device__ constexpr int x_stages(bool alone) {
    return alone ? 3 : 2;
}
// alone: device_copies_alone().
constexpr std::size_t x_shared_bytes(int x_rows, bool alone) {
    return static_cast<std::size_t>(x_stages(alone) * x_rows) * (step_columns + 16) * sizeof(__half);
}
static_assert(WarpProduct::shared_stride <= step_columns + 16);
static_assert(2 * x_shared_bytes(tile_rows, false) <= 96 * 1024, "two blocks a multiprocessor");

// Loads word by word: some compilers put a whole uint4 into local memory.
__device__ __forceinline__ uint4 load_or_zero(const __half* from, bool wanted) {
    uint4 v;
    v.x = v.y = v.z = v.w = 0;
    if (wanted) {
        const uint4 read = *reinterpret_cast<const uint4*>(from);
        v.x = read.x;
        v.y = read.y;
        v.z = read.z;
        v.w = read.w;
    }
    return v;
}

// Hides the value from the compiler, so that it recomputes derived values instead of keeping them.
__device__ __forceinline__ void forget_origin(int& value) {
    asm volatile("" : "+r"(value));
}

// Rows first to first + x_rows - 1 of x, (rows, columns); those, and columns, that x does not have are 0.
// gathered: row i of the product is row row_of[i] of x instead, or 0 if that is -1. row_of: (x_rows) in
// shared memory.
template <int x_rows, bool gathered = false>
class XSteps {
  public:
    __device__ XSteps(void* shared, const void* x, int columns, int first, int rows,
                      const int* row_of = nullptr)
        : shared_(static_cast<__half*>(shared)), columns_(columns), rows_(rows - first), row_of_(row_of) {
        const int begin = gathered ? 0 : first + row();
        from_ = static_cast<const __half*>(x) + static_cast<std::int64_t>(begin) * columns_ + column();
    }
    __device__ const __half* stage(int step) const { return shared_ + offset(step); }
    // Starts asynchronous copies of a step, none from step `end` on. Always ends a group.
    __device__ __forceinline__ void copy(int step, int end) {
        if constexpr (copies_run_alone) {
            if (step < end) {
                each(step, [&](int i, const __half* from, bool wanted) {
                    copy_alone(to_of(step, i), from, wanted);
                });
            }
            end_of_copies();
        }
    }
    // Without asynchronous copies: load() to registers, store() to shared memory. Only kernels with few rows
    // have the registers to load early.
    static constexpr bool loads_early = x_rows <= 32;
    __device__ __forceinline__ void load(int step, int end) {
        if constexpr (!copies_run_alone) {
            // CUDA 12.4 would keep the address of each row in registers from step to step and spill.
            if constexpr (x_rows >= 64) forget_origin(columns_);
            each(step, [&](int i, const __half* from, bool wanted) {
                v_[i] = load_or_zero(from, wanted && step < end);
            });
        }
    }
    __device__ __forceinline__ void store(int step) {
        if constexpr (!copies_run_alone) {
#pragma unroll
            for (int i = 0; i < rounds; ++i) *reinterpret_cast<uint4*>(to_of(step, i)) = v_[i];
        }
    }

  private:
    static constexpr int pieces = step_columns / 8, rows_each = tile_threads / pieces,
                         rounds = x_rows / rows_each;
    static_assert(x_rows % rows_each == 0);

    __device__ static int offset(int step) {
        return step % x_stages(copies_run_alone) * (x_rows * WarpProduct::shared_stride);
    }
    // Row and column of the first 16 bytes that the thread copies.
    __device__ static int row() {
        return static_cast<int>(threadIdx.x) / pieces;
    }
    __device__ static int column() {
        return static_cast<int>(threadIdx.x) % pieces * 8;
    }
    __device__ __half* to_of(int step, int i) const {
        return shared_ + offset(step) + row() * WarpProduct::shared_stride +
               WarpProduct::place(column() / 8) * 8 + i * (rows_each * WarpProduct::shared_stride);
    }
    // Returns the row of round i, counted from the one that from_ is in.
    __device__ __forceinline__ int row_of_round(int i) const {
        return gathered ? row_of_[row() + i * rows_each] : i * rows_each;
    }
    template <class Take>
    __device__ __forceinline__ void each(int step, const Take& take) const {
        const bool inside = step * step_columns + column() < columns_;
#pragma unroll
        for (int i = 0; i < rounds; ++i) {
            const int at = row_of_round(i);
            take(i,
                 from_ + static_cast<std::int64_t>(gathered ? max(at, 0) : at) * columns_ +
                     step * step_columns,
                 inside && (gathered ? at >= 0 : row() + i * rows_each < rows_));
        }
    }

    __half* shared_;
    int columns_, rows_;
    const int* row_of_;
    const __half* from_;
    uint4 v_[copies_run_alone ? 1 : rounds];
};

}  // namespace voltpile::llm
