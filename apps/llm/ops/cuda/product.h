// Selects the algorithm of a matrix product on the GPU and runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "device/buffer.h"
#include "device/device.h"
#include "device/slab_memory.h"
#include "device/stream.h"
#include "llm/ops/cuda/int8_product.h"
#include "llm/ops/cuda/loader.h"
#include "llm/ops/cuda/matmul.h"
#include "llm/ops/cuda/rotation.h"
#include "llm/ops/ops.h"

struct cublasContext;

namespace voltpile::llm {

// Returns x with zeros as further columns up to `columns`, a multiple of 32: in scratch from `used` on, which
// grows, or x itself if it has these columns.
const void* padded_columns(HiddenRows x, int columns, std::span<std::uint8_t> scratch, std::size_t& used,
                           const Stream& stream);

// On compute capability 9.0, tensor cores multiply more rows than these with so many weights of fewer than 8
// bits, or of floats of 8 bits: matrix-vector products need more time for instructions than for memory
// (measured).
constexpr int matvec_rows_if_large = 2;
constexpr bool has_fewer_than_8_bits(WeightFormat format) {
    return block_bytes(format) < block_size(format);
}
constexpr bool is_large(WeightFormat format, std::int64_t weights) {
    return weights >= std::int64_t{1} << 25 &&
           (has_fewer_than_8_bits(format) || format == WeightFormat::F8_E4M3);
}

class CudaProduct {
  public:
    // stream, scratch (GPU memory): must outlive the object. batch_invariant: a row's result does not depend
    // on the number of rows. limit: half_limit(), applied to gated results. Throws DeviceError if cuBLAS
    // fails.
    CudaProduct(const Stream& stream, std::span<std::uint8_t> scratch, const DeviceInfo& device,
                bool batch_invariant, float limit);

    // Ops::matmul and Ops::gated_matmul. out: fp32 if out_float, otherwise fp16, with row stride out_columns.
    // norm: of x, if takes_norm(). sent: if sends().
    void run(HiddenRows x, std::span<const WeightMatrix* const> weights, void* out, bool out_float,
             int out_columns, const NormArgs& norm = {}, const SentPart& sent = {});
    // Whether run() of one matrix to fp32 sends its results if asked to.
    bool sends(HiddenRows x) const { return x.rows == 1 && !batch_invariant_; }
    void run_gated(HiddenRows x, const CudaMatrix& gate, const CudaMatrix& up, Activation activation,
                   void* out, int out_columns, const NormArgs& norm = {});
    // Both products of a gated one instead, if weaves(), from the weights as integers that run_gated() takes:
    // out: fp16 (rows, 2 * rows of gate), 8 columns of the gate, 8 of up, and so on.
    static constexpr int woven_columns = 8;
    bool weaves(HiddenRows x, std::span<const WeightMatrix* const> weights) const;
    void run_woven(HiddenRows x, const CudaMatrix& gate, const CudaMatrix& up, void* out,
                   const NormArgs& norm = {});
    // Ops::adds and Ops::add_matmul. out: fp32.
    bool adds(std::int64_t rows, const CudaMatrix& weight) const;
    void add(HiddenRows x, const CudaMatrix& weight, const float* bias, void* out, int out_columns);
    // Ops::allow_integers. copies: memory for copies, of which `room` bytes are left.
    void allow_integers(std::span<WeightMatrix* const> weights, bool gated, SlabMemory& copies,
                        std::size_t& room);
    // Whether a product of these matrices computes the norm of x itself, also with a delta if there is one.
    bool takes_norm(HiddenRows x, std::span<const WeightMatrix* const> weights, bool gated,
                    bool has_delta) const;

  private:
    struct ReleaseBlas {
        void operator()(cublasContext* blas) const noexcept;
    };

    // Returns what the matrices have if a product of them may be one of integers.
    static const IntegerWeights* integers_of(std::span<const WeightMatrix* const> weights, bool gated);
    bool by_integers(const IntegerWeights* integers, std::int64_t rows) const;
    bool by_vectors(const MatmulArgs& args) const;
    // Returns how many rows matrix-vector products multiply, at most, with so many weights.
    int most_vector_rows(WeightFormat format, std::int64_t weights) const;
    bool by_int8_vectors(const MatmulArgs& args) const;
    // Returns the arguments of a product of one matrix, so far as it and the number of rows tell.
    static MatmulArgs one_matrix(int rows, const CudaMatrix& weight);
    bool by_blas(const MatmulArgs& args) const;
    // Whether a product and the next one, with a matrix in another format, run at the same time.
    bool runs_beside(const MatmulArgs& args, const DeviceMatrix& next) const;
    // Whether one kernel computes a product and the next one, with a matrix in another format.
    bool runs_in_pair(const MatmulArgs& args, const DeviceMatrix& next) const;
    // Returns what run_gated() and run_woven() have in common. used: of the scratch memory.
    MatmulArgs gated_args(HiddenRows x, const CudaMatrix& gate, const CudaMatrix& up, const NormArgs& norm,
                          std::size_t& used);
    // By whichever is faster: cuBLAS or kernels.
    void multiply_rows(MatmulArgs& args, std::size_t used);
    void by_kernels(MatmulArgs& args, std::size_t used);
    void by_pair(MatmulArgs& first, MatmulArgs& second, std::size_t used);
    void by_tiles(const MatmulArgs& args, std::size_t room);
    void add_products(const MatmulArgs& args, std::size_t used, const float* bias, float* out,
                      int out_columns);
    void gated_of_two_formats(const MatmulArgs& args, std::size_t used);
    void many_rows(const MatmulArgs& args, std::size_t used);
    void many_rows_gated(const MatmulArgs& args, std::size_t used);
    // out[r, j] = sum_c x[r, c] w[j, c] with cuBLAS; x, w: fp16.
    void multiply(const void* x, int rows, int columns, const void* w, int outputs, void* out, bool out_float,
                  int out_columns);
    // Returns rows of a matrix as fp16: dequantized to `to`, or in place if the matrix is F16.
    const void* as_fp16(const DeviceMatrix& w, int first_row, int rows, std::uint8_t* to);

    const Stream& stream_;
    std::span<std::uint8_t> scratch_;
    int multiprocessors_;
    bool sm90_;  // the kernels in sm90 may run
    Int8Device int8_;
    bool batch_invariant_;
    float limit_;
    DeviceBuffer<int> counters_;
    Rotations rotations_;
    DeviceBuffer<std::uint8_t> blas_memory_;
    std::unique_ptr<cublasContext, ReleaseBlas> blas_;
};

}  // namespace voltpile::llm
