#include "llm/ops/cuda/product.h"

#include <cublas_v2.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "llm/model/gpu_memory.h"
#include "llm/ops/cuda/cuda_ops.h"
#include "llm/ops/cuda/int8_rows.h"
#include "llm/ops/cuda/int8_tiles.h"
#include "llm/ops/cuda/rows.h"
#include "llm/ops/cuda/sm90/int8_vectors.h"
#include "llm/ops/cuda/tiles.h"

namespace voltpile::llm {

namespace {

void blas_check(cublasStatus_t status, const char* doing) {
    if (status != CUBLAS_STATUS_SUCCESS)
        throw DeviceError(fmt::format("{}: {}", doing, cublasGetStatusString(status)));
}

std::int64_t weights_in(std::span<const WeightMatrix* const> matrices) {
    std::int64_t all = 0;
    for (const WeightMatrix* const matrix : matrices) all += matrix->rows() * matrix->columns();
    return all;
}

}  // namespace

void CudaProduct::ReleaseBlas::operator()(cublasContext* blas) const noexcept {
    cublasDestroy(blas);
}

CudaProduct::CudaProduct(const Stream& stream, std::span<std::uint8_t> scratch, const DeviceInfo& device,
                         bool batch_invariant, float limit)
    : stream_(stream),
      scratch_(scratch),
      multiprocessors_(device.multiprocessors),
      sm90_(VOLTPILE_SM90 && device.compute_capability == 90),
      int8_(int8_device(device.compute_capability, device.multiprocessors)),
      batch_invariant_(batch_invariant),
      limit_(limit),
      counters_(most_tiles),
      blas_memory_(cublas_bytes) {
    set_to_zero(counters_.data(), counters_.bytes(), stream);
    cublasHandle_t blas = nullptr;
    blas_check(cublasCreate(&blas), "starting cuBLAS");
    blas_.reset(blas);
    blas_check(cublasSetStream(blas, stream.get()), "giving cuBLAS its stream");
    // A workspace of our own, so that products can be captured into graphs.
    blas_check(cublasSetWorkspace(blas, blas_memory_.data(), blas_memory_.size()), "giving cuBLAS memory");
}

const void* padded_columns(HiddenRows x, int columns, std::span<std::uint8_t> scratch, std::size_t& used,
                           const Stream& stream) {
    if (x.columns == columns) return x.data;
    void* to = scratch.data() + used;
    used += gpu_piece_bytes(static_cast<std::size_t>(x.rows) * static_cast<std::size_t>(columns) * 2);
    if (used > scratch.size()) throw DeviceError("activations of a matrix product need more scratch memory");
    launch_pad(x.data, static_cast<int>(x.rows), static_cast<int>(x.columns), columns, to, stream);
    return to;
}

void CudaProduct::run(HiddenRows x, std::span<const WeightMatrix* const> weights, void* out, bool out_float,
                      int out_columns, const NormArgs& norm, const SentPart& sent) {
    if (x.rows == 0) return;
    std::size_t used = 0;
    MatmulArgs args;
    args.rows = static_cast<int>(x.rows);
    args.norm = norm;
    args.sent = sent;
    if (sent.peers > 0 && !by_vectors(args))
        throw std::logic_error("only matrix-vector products send results");
    args.out = out;
    args.out_float = out_float;
    args.out_columns = out_columns;
    args.x = padded_columns(x, cuda(*weights.front()).planes().columns, scratch_, used, stream_);
    args.integers = integers_of(weights, false);
    const bool whole = by_integers(args.integers, args.rows);  // in any formats
    int begin = 0;
    std::size_t next = 0;
    // Takes up to three of the next matrices, in one format unless `whole`.
    const auto take = [&](MatmulArgs& to) {
        to.matrices = 0;
        for (; next < weights.size() && to.matrices < 3; ++next) {
            const DeviceMatrix& w = cuda(*weights[next]).planes();
            if (to.matrices > 0 && w.format != to.matrix[0].format && !whole) break;
            to.matrix[to.matrices] = w;
            to.out_begin[to.matrices] = begin;
            to.first_group[to.matrices + 1] = to.first_group[to.matrices] + groups_of(w.rows);
            ++to.matrices;
            begin += w.rows;
        }
    };
    while (next < weights.size()) {
        args.beside_last = args.beside_next;
        take(args);
        // Products in two formats are one kernel if possible. Otherwise products in several formats run at
        // the same time if each prepares x; if not, the first one writes the normed rows that the others
        // read.
        if (next < weights.size() && runs_in_pair(args, cuda(*weights[next]).planes())) {
            args.beside_next = false;
            MatmulArgs second = args;
            take(second);
            by_pair(args, second, used);
        } else {
            args.beside_next = next < weights.size() && runs_beside(args, cuda(*weights[next]).planes());
            multiply_rows(args, used);
        }
        if (!args.beside_next) args.norm = {};
    }
}

void CudaProduct::add(HiddenRows x, const CudaMatrix& weight, const float* bias, void* out, int out_columns) {
    if (x.rows == 0) return;
    std::size_t used = 0;
    MatmulArgs args = one_matrix(static_cast<int>(x.rows), weight);
    args.out_float = true;
    args.x = padded_columns(x, args.matrix[0].columns, scratch_, used, stream_);
    if (by_vectors(args) || by_int8_vectors(args)) {
        args.adds = true;
        args.bias = bias;
        args.out = out;
        args.out_columns = out_columns;
        return by_kernels(args, used);
    }
    add_products(args, used, bias, static_cast<float*>(out), out_columns);
}

// Computes the products as fp32, as many rows at a time as fit in a quarter of the scratch memory: products
// of many rows need the rest.
void CudaProduct::add_products(const MatmulArgs& args, std::size_t used, const float* bias, float* out,
                               int out_columns) {
    const int outputs = args.matrix[0].rows;
    const std::size_t row_bytes = sizeof(float) * static_cast<std::size_t>(outputs);
    const auto each =
        static_cast<int>(std::min<std::size_t>((scratch_.size() - used) / 4 / row_bytes, 1 << 20));
    if (each == 0) throw DeviceError("a matrix product needs more scratch memory");
    auto* const products = reinterpret_cast<float*>(scratch_.data() + used);
    for (int row = 0; row < args.rows; row += each) {
        MatmulArgs some = args;
        some.rows = std::min(each, args.rows - row);
        some.x = static_cast<const std::uint8_t*>(args.x) +
                 static_cast<std::int64_t>(row) * args.matrix[0].columns * 2;
        some.out = products;
        some.out_columns = outputs;
        multiply_rows(some, used + gpu_piece_bytes(static_cast<std::size_t>(some.rows) * row_bytes));
        launch_add_rows(products, bias, some.rows, outputs,
                        out + static_cast<std::int64_t>(row) * out_columns, out_columns, stream_);
    }
}

void CudaProduct::allow_integers(std::span<WeightMatrix* const> weights, bool gated, SlabMemory& copies,
                                 std::size_t& room) {
    MatmulArgs args;
    args.matrices = 0;
    if (int8_.kernel == Int8Kernel::None || weights.size() > std::size(args.matrix)) return;
    std::vector<std::int64_t> rows;
    for (const WeightMatrix* const weight : weights) {
        const DeviceMatrix& w = cuda(*weight).planes();
        if (w.format == WeightFormat::F16) return;
        args.matrix[args.matrices++] = w;
        rows.push_back(w.rows);
    }
    IntegerWeights integers{rotations_.of(args.matrix[0].columns, stream_), args.matrices, gated, {}};
    integers.least_rows = int8_.least.rounded;
    if (integers.rotation.columns == 0) return;
    const std::size_t bytes = integer_copy_bytes(rows, args.matrix[0].columns, gated);
    if (bytes > room && batch_invariant_) return;  // it would take too long for few rows
    if (bytes <= room) {
        room -= bytes;
        integers.copy = copies.allocate(bytes);
        const std::int64_t all = weights_in(weights);
        const std::span matrices(args.matrix, weights.size());
        integers.large = sm90_ && std::ranges::all_of(matrices, [&](const DeviceMatrix& w) {
                             return is_large(w.format, all);
                         });
        const bool of_bytes =
            all >= least_weights_of_bytes && std::ranges::none_of(matrices, [](const DeviceMatrix& w) {
                return has_fewer_than_8_bits(w.format);
            });
        integers.least_rows = of_bytes ? int8_.least.of_bytes : int8_.least.copied;
        args.gated = gated;
        args.integers = &integers;
        args.scratch = scratch_.data();
        launch_integer_copy(args, scratch_.size(), stream_);
    }
    cuda(*weights.front()).set_integers(std::make_unique<const IntegerWeights>(std::move(integers)));
}

const IntegerWeights* CudaProduct::integers_of(std::span<const WeightMatrix* const> weights, bool gated) {
    const IntegerWeights* integers = cuda(*weights.front()).integers();
    const bool same = integers != nullptr && integers->gated == gated &&
                      integers->matrices == static_cast<int>(weights.size());
    return same ? integers : nullptr;
}

bool CudaProduct::by_integers(const IntegerWeights* integers, std::int64_t rows) const {
    if (integers == nullptr) return false;
    // Batch-invariant: any number of rows, since integers are added without rounding.
    if (batch_invariant_ || rows >= integers->least_rows) return true;
    return integers->large && rows > matvec_rows_if_large && rows <= matvec_rows;
}

bool CudaProduct::by_int8_vectors([[maybe_unused]] const MatmulArgs& args) const {
#if VOLTPILE_SM90
    return sm90_ && by_integers(args.integers, args.rows) && takes_int8_vectors(args, multiprocessors_);
#else
    return false;
#endif
}

bool CudaProduct::adds(std::int64_t rows, const CudaMatrix& weight) const {
    if (rows > matvec_rows) return false;
    const MatmulArgs args = one_matrix(static_cast<int>(rows), weight);
    return by_vectors(args) || by_int8_vectors(args);
}

MatmulArgs CudaProduct::one_matrix(int rows, const CudaMatrix& weight) {
    const WeightMatrix* const one[] = {&weight};
    MatmulArgs args;
    args.rows = rows;
    args.matrix[0] = weight.planes();
    args.first_group[1] = groups_of(args.matrix[0].rows);
    args.integers = integers_of(one, false);
    return args;
}

void CudaProduct::multiply_rows(MatmulArgs& args, std::size_t used) {
    if (by_blas(args)) {
        many_rows(args, used);
    } else {
        by_kernels(args, used);
    }
}
bool CudaProduct::by_vectors(const MatmulArgs& args) const {
    std::int64_t weights = 0;
    for (int m = 0; m < args.matrices; ++m)
        weights += std::int64_t{args.matrix[m].rows} * args.matrix[m].columns;
    return args.rows <= most_vector_rows(args.matrix[0].format, weights) && !batch_invariant_ &&
           !by_integers(args.integers, args.rows);
}
int CudaProduct::most_vector_rows(WeightFormat format, std::int64_t weights) const {
    return sm90_ && is_large(format, weights) ? matvec_rows_if_large : matvec_rows;
}
bool CudaProduct::runs_beside(const MatmulArgs& args, const DeviceMatrix& next) const {
    MatmulArgs other = args;
    other.matrix[0] = next;
    return by_vectors(args) && prepares_x(args) && prepares_x(other);
}

bool CudaProduct::runs_in_pair(const MatmulArgs& args, const DeviceMatrix& next) const {
    return multiplies_in_pairs(args.matrix[0].format, next.format) && !args.beside_last &&
           (args.rows == 1 ? runs_beside(args, next) : by_vectors(args));
}

bool CudaProduct::takes_norm(HiddenRows x, std::span<const WeightMatrix* const> weights, bool gated,
                             bool has_delta) const {
    const DeviceMatrix& w = cuda(*weights.front()).planes();
    if (x.columns != w.columns) return false;
    const IntegerWeights* const integers = integers_of(weights, gated);
    if (by_integers(integers, x.rows))
        return (batch_invariant_ || x.rows <= matvec_rows || x.rows >= least_normed_rows(w.columns)) &&
               norms_in_int8_rows(integers->rotation);
    if (gated && weights[0]->format() != weights[1]->format()) return false;
    if (x.rows > most_vector_rows(w.format, weights_in(weights))) return false;
    return !batch_invariant_ && !has_delta && norms_in_product(w.format, static_cast<int>(x.rows), w.columns);
}

MatmulArgs CudaProduct::gated_args(HiddenRows x, const CudaMatrix& gate, const CudaMatrix& up,
                                   const NormArgs& norm, std::size_t& used) {
    MatmulArgs args;
    args.norm = norm;
    args.gated = true;
    args.matrices = 2;
    args.matrix[0] = gate.planes();
    args.matrix[1] = up.planes();
    args.first_group[1] = groups_of(args.matrix[0].rows);
    args.rows = static_cast<int>(x.rows);
    args.x = padded_columns(x, args.matrix[0].columns, scratch_, used, stream_);
    const WeightMatrix* const both[] = {&gate, &up};
    args.integers = integers_of(both, true);
    return args;
}

void CudaProduct::run_gated(HiddenRows x, const CudaMatrix& gate, const CudaMatrix& up, Activation activation,
                            void* out, int out_columns, const NormArgs& norm) {
    if (x.rows == 0) return;
    std::size_t used = 0;
    MatmulArgs args = gated_args(x, gate, up, norm, used);
    args.activation = activation;
    args.limit = limit_;
    args.out = out;
    args.out_columns = out_columns;
    if (by_blas(args)) {
        many_rows_gated(args, used);
    } else if (args.matrix[0].format == args.matrix[1].format || by_integers(args.integers, args.rows)) {
        by_kernels(args, used);
    } else {
        gated_of_two_formats(args, used);
    }
}

bool CudaProduct::weaves(HiddenRows x, std::span<const WeightMatrix* const> weights) const {
    return weights[0]->rows() % woven_columns == 0 && by_integers(integers_of(weights, true), x.rows);
}

void CudaProduct::run_woven(HiddenRows x, const CudaMatrix& gate, const CudaMatrix& up, void* out,
                            const NormArgs& norm) {
    if (x.rows == 0) return;
    std::size_t used = 0;
    MatmulArgs args = gated_args(x, gate, up, norm, used);
    args.apart = true;
    args.out = out;
    args.out_columns = 2 * args.matrix[0].rows;
    by_kernels(args, used);
}

// Not if batch-invariant: the order in which cuBLAS sums depends on the number of rows. Nor where products
// may be those of integers. Dequantizing weights to fp16 in memory pays only for many rows, and not at all
// where wide tiles take the weights (matmul.h).
bool CudaProduct::by_blas(const MatmulArgs& args) const {
    if (batch_invariant_ || by_integers(args.integers, args.rows)) return false;
    const WeightFormat format = args.matrix[0].format;
    const bool wide = sm90_ && format != WeightFormat::F16;
    return !wide && args.rows > most_kernel_rows(format);
}

void CudaProduct::by_kernels(MatmulArgs& args, std::size_t used) {
    args.scratch = scratch_.data() + used;
    args.counters = counters_.data();
    const std::size_t room = scratch_.size() - used;
#if VOLTPILE_SM90
    if (by_int8_vectors(args)) return launch_int8_vectors(args, room, multiprocessors_, stream_);
#endif
    if (by_integers(args.integers, args.rows)) return launch_int8_tiles(args, room, int8_, stream_);
    if (by_vectors(args)) {
        args.split = matvec_split(args, multiprocessors_);
        if (matvec_scratch_bytes(args) > room)
            throw DeviceError("a matrix product needs more scratch memory");
        return launch_matvec(args, multiprocessors_, stream_);
    }
#if VOLTPILE_SM90
    if (sm90_ && !batch_invariant_ && args.rows >= least_wide_rows &&
        args.matrix[0].format != WeightFormat::F16)
        return launch_wide_tiles(args, room, multiprocessors_, stream_);
#endif
    by_tiles(args, room);
}

void CudaProduct::by_pair(MatmulArgs& first, MatmulArgs& second, std::size_t used) {
    if (matvec_scratch_bytes(first) > scratch_.size() - used)
        throw DeviceError("a matrix product needs more scratch memory");
    for (MatmulArgs* const each : {&first, &second}) {
        each->scratch = scratch_.data() + used;
        each->split = matvec_split(*each, multiprocessors_);
    }
    launch_matvec_pair(first, second, multiprocessors_, stream_);
}

// Runs as many rows at a time as fit in the scratch memory and the counters.
void CudaProduct::by_tiles(const MatmulArgs& args, std::size_t room) {
    const int pieces = batch_invariant_ ? 1 : pieces_of(args.rows);
    // Batch-invariant: the same number of workers for all numbers of rows.
    const int blocks = batch_invariant_ ? tile_blocks_each
                                        : tile_blocks(args.matrix[0].format, std::min(args.rows, tile_rows),
                                                      device_stages_weights());
    const int workers = tile_workers(args, blocks * multiprocessors_ / pieces);
    const auto fit = static_cast<int>(std::min<std::size_t>(room / tile_scratch_bytes(1, workers), 1 << 16));
    const int each = std::min(fit, most_tiles / tiles_of(args)) * tile_rows;
    if (each == 0) throw DeviceError("a matrix product needs more scratch memory");
    for (int row = 0; row < args.rows; row += each) {
        MatmulArgs some = args;
        some.workers = workers;
        some.rows = std::min(each, args.rows - row);
        some.x = static_cast<const std::uint8_t*>(args.x) +
                 static_cast<std::int64_t>(row) * args.matrix[0].columns * 2;
        some.out = static_cast<std::uint8_t*>(args.out) +
                   static_cast<std::int64_t>(row) * args.out_columns * (args.out_float ? 4 : 2);
        launch_tiles(some, stream_);
    }
}

// Computes both products as fp32, as many rows at a time as fit in half of the scratch memory.
void CudaProduct::gated_of_two_formats(const MatmulArgs& args, std::size_t used) {
    const int outputs = args.matrix[0].rows;
    const std::size_t row_bytes = 2 * sizeof(float) * static_cast<std::size_t>(outputs);
    const auto each = static_cast<int>((scratch_.size() - used) / 2 / row_bytes);
    if (each == 0) throw DeviceError("a matrix product needs more scratch memory");
    auto* sums = reinterpret_cast<float*>(scratch_.data() + used);
    for (int row = 0; row < args.rows; row += each) {
        const int rows = std::min(each, args.rows - row);
        MatmulArgs one;
        one.x = static_cast<const std::uint8_t*>(args.x) +
                static_cast<std::int64_t>(row) * args.matrix[0].columns * 2;
        one.rows = rows;
        one.out_float = true;
        one.out_columns = 2 * outputs;
        one.first_group[1] = groups_of(outputs);
        for (int m = 0; m < 2; ++m) {
            one.matrix[0] = args.matrix[m];
            one.out = sums + std::ptrdiff_t{m} * outputs;
            multiply_rows(one, used + gpu_piece_bytes(static_cast<std::size_t>(rows) * row_bytes));
        }
        launch_gate(
            args.activation, sums, sums + outputs, 2 * outputs,
            static_cast<std::uint8_t*>(args.out) + static_cast<std::int64_t>(row) * args.out_columns * 2,
            args.out_columns, rows, outputs, limit_, stream_);
    }
}

const void* CudaProduct::as_fp16(const DeviceMatrix& w, int first_row, int rows, std::uint8_t* to) {
    if (w.format == WeightFormat::F16) return w.quants + static_cast<std::int64_t>(first_row) * w.columns * 2;
    launch_dequantize(w, first_row, rows, to, stream_);
    return to;
}

void CudaProduct::many_rows(const MatmulArgs& args, std::size_t used) {
    const std::size_t row_bytes = static_cast<std::size_t>(args.matrix[0].columns) * 2;
    const auto fit = static_cast<int>(std::min<std::size_t>((scratch_.size() - used) / row_bytes, 1 << 30));
    if (fit == 0) throw DeviceError("a matrix product needs more scratch memory");
    const int element = args.out_float ? 4 : 2;
    for (int m = 0; m < args.matrices; ++m) {
        const DeviceMatrix& w = args.matrix[m];
        const int each = w.format == WeightFormat::F16 ? w.rows : fit;
        for (int row = 0; row < w.rows; row += each) {
            const int rows = std::min(each, w.rows - row);
            const void* half = as_fp16(w, row, rows, scratch_.data() + used);
            multiply(args.x, args.rows, w.columns, half, rows,
                     static_cast<std::uint8_t*>(args.out) +
                         static_cast<std::int64_t>(args.out_begin[m] + row) * element,
                     args.out_float, args.out_columns);
        }
    }
}

// Works in pieces whose fp16 weights and fp32 products fit in the scratch memory.
void CudaProduct::many_rows_gated(const MatmulArgs& args, std::size_t used) {
    const DeviceMatrix &gate = args.matrix[0], &up = args.matrix[1];
    const std::size_t per_output =
        2 * (static_cast<std::size_t>(gate.columns) * 2 + static_cast<std::size_t>(args.rows) * 4);
    const auto fit =
        static_cast<int>(std::min<std::size_t>((scratch_.size() - used) / per_output, 1 << 30)) / 128 * 128;
    if (fit == 0) throw DeviceError("a matrix product needs more scratch memory");
    const int each = std::min(fit, (gate.rows + 127) / 128 * 128);
    std::uint8_t* half = scratch_.data() + used;
    std::uint8_t* half_up = half + static_cast<std::size_t>(each) * gate.columns * 2;
    auto* sums = reinterpret_cast<float*>(half_up + static_cast<std::size_t>(each) * gate.columns * 2);
    for (int row = 0; row < gate.rows; row += each) {
        const int outputs = std::min(each, gate.rows - row);
        multiply(args.x, args.rows, gate.columns, as_fp16(gate, row, outputs, half), outputs, sums, true,
                 2 * each);
        multiply(args.x, args.rows, gate.columns, as_fp16(up, row, outputs, half_up), outputs, sums + each,
                 true, 2 * each);
        launch_gate(args.activation, sums, sums + each, 2 * each,
                    static_cast<std::uint8_t*>(args.out) + static_cast<std::int64_t>(row) * 2,
                    args.out_columns, args.rows, outputs, limit_, stream_);
    }
}

void CudaProduct::multiply(const void* x, int rows, int columns, const void* w, int outputs, void* out,
                           bool out_float, int out_columns) {
    // cuBLAS's matrices are column-major: out^T = w x^T.
    const float one = 1, zero = 0;
    blas_check(
        cublasGemmEx(blas_.get(), CUBLAS_OP_T, CUBLAS_OP_N, outputs, rows, columns, &one, w, CUDA_R_16F,
                     columns, x, CUDA_R_16F, columns, &zero, out, out_float ? CUDA_R_32F : CUDA_R_16F,
                     out_columns, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "a matrix product of cuBLAS");
}

}  // namespace voltpile::llm
