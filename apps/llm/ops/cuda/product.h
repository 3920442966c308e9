// Chooses how a matrix product is done on the GPU, and does it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "device/buffer.h"
#include "device/stream.h"
#include "llm/ops/cuda/loader.h"
#include "llm/ops/cuda/matmul.h"
#include "llm/ops/ops.h"

struct cublasContext;

namespace voltpile::llm {

class CudaProduct {
  public:
    // batch_invariant: a row's bits do not depend on the number of rows. limit: half_limit(), of gated
    // results.
    CudaProduct(const Stream& stream, std::span<std::uint8_t> scratch, int multiprocessors,
                bool batch_invariant, float limit);

    // See Ops. out: fp32 if out_float, else fp16; out_columns from row to row.
    void run(HiddenRows x, std::span<const WeightMatrix* const> weights, void* out, bool out_float,
             int out_columns);
    void run_gated(HiddenRows x, const CudaMatrix& gate, const CudaMatrix& up, void* out, int out_columns);

  private:
    struct ReleaseBlas {
        void operator()(cublasContext* blas) const noexcept;
    };

    const void* padded(HiddenRows x, int columns, std::size_t& used);
    bool by_blas(const MatmulArgs& args) const;
    void by_kernels(MatmulArgs& args, std::size_t used);
    void by_tiles(const MatmulArgs& args, std::size_t room);
    void gated_of_two_formats(const MatmulArgs& args, std::size_t used);
    void many_rows(const MatmulArgs& args, std::size_t used);
    void many_rows_gated(const MatmulArgs& args, std::size_t used);
    // out[r, j] = sum_c x[r, c] w[j, c], of fp16 x and w.
    void multiply(const void* x, int rows, int columns, const void* w, int outputs, void* out, bool out_float,
                  int out_columns);
    // fp16 rows of a matrix, by way of `to` unless they are in memory as they are.
    const void* as_fp16(const DeviceMatrix& w, int first_row, int rows, std::uint8_t* to);

    const Stream& stream_;
    std::span<std::uint8_t> scratch_;
    int multiprocessors_;
    bool batch_invariant_;
    float limit_;
    DeviceBuffer<int> counters_;
    DeviceBuffer<std::uint8_t> blas_memory_;
    std::unique_ptr<cublasContext, ReleaseBlas> blas_;
};

}  // namespace voltpile::llm
