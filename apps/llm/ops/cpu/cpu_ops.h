// The operations on CPUs, with SIMD kernels for this machine's CpuLevel and several threads. Formats with
// integer products (has_integer_product), from AVX2 on, are packed at loading (strip_matrix.h): a product
// rounds its activations to 8 bits with one scale for 32 columns, multiplies integers, and adds the scaled
// sums of 32 or 16 columns in fp32. Other weights keep the file's layout and are expanded to fp32 in
// registers. A row's result is bit-identical in any batch and with any number of threads.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "llm/ops/cpu/kernels.h"
#include "llm/ops/cpu/team.h"
#include "llm/ops/cpu/weight_slabs.h"
#include "llm/ops/host_ops.h"

namespace voltpile::llm {

class CpuOps : public HostOps {
  public:
    // pus: the logical processor of each thread; -1: unbound. pus[0] is the calling thread's, which CpuOps
    // does not bind.
    explicit CpuOps(const std::vector<int>& pus, const CpuKernels& kernels = cpu_kernels(cpu_level()),
                    bool clamp = false);

    std::string describe() const override;
    CpuTeam& team() { return team_; }

    std::unique_ptr<WeightMatrix> load_matrix(const MatrixSource& source) override;
    void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps, HiddenRows out,
                      SentinelPlace place) override;
    void rms_norm(FloatRows x, const float* weight, float eps, SentinelPlace place) override;
    void matmul(HiddenRows x, std::span<const WeightMatrix* const> weights, HiddenRows out) override;
    void matmul(HiddenRows x, const WeightMatrix& weight, FloatRows out) override;
    void add_matmul(HiddenRows x, const WeightMatrix& weight, const float* bias, FloatRows out) override;
    void gated_matmul(HiddenRows x, const WeightMatrix& gate, const WeightMatrix& up, Activation activation,
                      HiddenRows out) override;
    void add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                      HiddenRows out) override {
        add_adapters(x, adapters, batch, host(out));
    }
    void add_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                      FloatRows out) override;
    void gate(HiddenRows x, Activation activation, HiddenRows out) override;
    void matmul_heads(HiddenRows x, HeadColumns from, const WeightMatrix& weight, HiddenRows out,
                      HeadColumns to) override;
    void copy_heads(HiddenRows x, HeadColumns from, int heads, HiddenRows out, HeadColumns to) override;
    void sum_squares(HiddenRows qkv, const QkvSettings& settings, FloatRows sums) override;
    void route(HiddenRows x, const RouterSettings& settings, const BatchView& batch, const Routing& to,
               const AdapterWeights* adapters) override;
    void gated_experts(HiddenRows x, const ExpertWeights& gate, const ExpertWeights& up,
                       Activation activation, const Routing& routing, const float* added,
                       HiddenRows out) override;
    void sum_experts(HiddenRows x, const ExpertWeights& down, const Routing& routing, FloatRows out) override;
    void adapt_experts(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                       const Routing& routing, FloatRows out) override;
    void add_expert_adapters(HiddenRows x, const AdapterWeights& adapters, const BatchView& batch,
                             const Routing& routing, FloatRows out) override;
    void rope_and_store(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                        const KvLayer& cache) override;
    void attention(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch, const KvLayer& cache,
                   const AttentionSettings& attention, HiddenRows out) override;
    void soft_cap(FloatRows x, float cap) override;
    void sample(FloatRows logits, const SamplingView& sampling, std::int32_t* tokens,
                float* log_probability) override;
    void top_log_probabilities(FloatRows logits, int n, std::int32_t* tokens,
                               float* log_probabilities) override;

  private:
    struct alignas(64) AlignedBytes {
        std::byte bytes[64];
    };
    // Memory of one thread; grows as needed.
    struct Scratch {
        std::vector<float> panel;
        std::vector<float> other;
        std::vector<float> sums;
        std::vector<AlignedBytes> integer_panel;
    };

    struct GateSettings {
        Activation activation;
        const float* gate_bias = nullptr;  // (rows of the matrices)
        const float* up_bias = nullptr;
        const float* added = nullptr;  // (rows, 2 * rows of the matrices), see Ops::gated_experts
    };

    bool by_integers(const WeightMatrix& weight) const { return llm::by_integers(kernels_, weight.format()); }
    // Rows that a product multiplies: those from row `begin` on of what was prepared, which are its part
    // `part`.
    struct PreparedRows {
        FloatRows x;
        std::int64_t begin = 0, part = 0;
    };
    // Makes of x what products with the matrices read: quantized_ or groups_. begins: the first row of each
    // part, and the end of the last.
    void prepare(FloatRows x, std::span<const std::int32_t> begins,
                 std::span<const WeightMatrix* const> weights);
    void prepare(FloatRows x, std::span<const WeightMatrix* const> weights) {
        const std::int32_t begins[] = {0, static_cast<std::int32_t>(x.rows)};
        prepare(x, begins, weights);
    }
    // Quantizes row_of(r) for 0 <= r < rows to quantized_.
    template <class RowOf>
    void quantize_rows(std::int64_t rows, std::int64_t columns, const RowOf& row_of) {
        const std::int64_t blocks = quantized_stride(columns);
        quantized_.resize(std::max(quantized_.size(), static_cast<std::size_t>(rows * blocks)));
        // Few rows are quantized in less time than it takes to wake the team.
        constexpr std::int64_t rows_for_team = 8;
        const auto one = [&](std::int64_t r, int) {
            kernels_.quantize(row_of(r), columns, quantized_.data() + r * blocks);
        };
        if (rows >= rows_for_team) return team_.for_each(rows, one);
        for (std::int64_t r = 0; r < rows; ++r) one(r, 0);
    }
    // Writes the parts of x with enough rows for panels of one of the matrices to groups_.
    void group_rows(FloatRows x, std::span<const std::int32_t> begins,
                    std::span<const WeightMatrix* const> weights);
    // Returns the rows of x in the order of their experts, and prepares them for products with the matrices.
    // Without data if both are by integers.
    FloatRows gather_rows(FloatRows x, const Routing& routing, const WeightMatrix& gate,
                          const WeightMatrix& up);
    Product product_of(const WeightMatrix& weight, const PreparedRows& rows, std::int64_t item, int thread);
    void run(const Product& p) const;
    void run_gated(const WeightMatrix& gate, const WeightMatrix& up, const PreparedRows& rows,
                   std::int64_t item, int thread, const GateSettings& settings, FloatRows out);
    // Calls product(expert, item, thread) for all work items of the experts that rows use.
    template <class ItemProduct>
    void for_each_item(const ExpertWeights& weights, const Routing& routing, const ItemProduct& product);
    void multiply(FloatRows x, std::span<const WeightMatrix* const> weights, FloatRows out);
    // Divides the rows into blocks of a sequence, for attention in `pieces` of up to `group` heads each.
    void find_adjacent_rows(const BatchView& batch, int pieces, int group);
    // Lists the pairs whose rows have an adapter that changes the expert, sorted by factors.
    void find_adapted_pairs(const AdapterWeights& adapters, const BatchView& batch, const Routing& routing);
    // The rows of a product with an adapter, at most most_adapted_rows.
    static constexpr std::int64_t most_adapted_rows = 16;
    struct AdaptedRows {
        const float* x[most_adapted_rows];
        float* out[most_adapted_rows];
        std::int64_t count = 0;
        void add(const float* from, float* to) {
            x[count] = from;
            out[count++] = to;
        }
        // Copies the rows of x to (count, columns).
        void gather(std::int64_t columns, float* to) const {
            for (std::int64_t i = 0; i < count; ++i) std::copy_n(x[i], columns, to + i * columns);
        }
    };
    // out[i][:] = or, if `adds`, += the product of x[i] with the factors, on one thread.
    void multiply_factors(const AdapterWeights& adapters, int factors, const AdaptedRows& rows, bool adds,
                          int thread);
    // The same with `adds` on all threads.
    void add_factors_together(const AdapterWeights& adapters, int factors, const AdaptedRows& rows);
    // to[i, j - begin] = the product of row i of x, (rows, columns), with row j of the first factor.
    void reduce(const AdapterWeights& adapters, int factors, const float* x, std::int64_t rows,
                std::int64_t begin, std::int64_t end, float* to, std::int64_t stride, int thread);
    // out[i][j] = or, if `adds`, += the product of row i of `reduced`, which reduce() has left for all
    // matrices, with the second factor, for the outputs begin <= j < end of matrix m.
    void expand(const AdapterWeights& adapters, int factors, int m, std::int64_t begin, std::int64_t end,
                const float* reduced, const AdaptedRows& rows, bool adds) const;
    // Writes the products of the pairs in the list to their rows of `out`. row_of: of a pair in x; nullptr:
    // the pair itself.
    void multiply_adapted_pairs(FloatRows x, const std::int32_t* row_of, const AdapterWeights& adapters,
                                FloatRows out);

    CpuKernels kernels_;
    CpuTeam team_;
    WeightSlabs weight_slabs_;
    std::vector<Scratch> scratch_;
    // The activations of the current product, in the two orders of prepare().
    std::vector<QuantizedBlock> quantized_;
    std::vector<float> groups_;
    struct RowGroup {
        std::int64_t begin, rows, place;
    };
    std::vector<RowGroup> row_groups_;  // being written to groups_
    std::vector<float> means_;
    struct AdjacentRows {
        int begin, rows;
    };
    std::vector<AdjacentRows> adjacent_rows_;  // of attention
    std::vector<float> logits_;                // of the router
    std::vector<float> gathered_;              // the rows of x in the order of their experts
    std::vector<float> products_;              // of each row with each of its experts
    std::vector<std::int64_t> adapted_rows_;   // with the same adapter
    struct AdaptedPair {
        int factors;  // index of the adapter for the expert
        std::int32_t pair;
    };
    std::vector<AdaptedPair> adapted_pairs_;
    struct PairRange {
        std::size_t begin, end;  // of adapted_pairs_ with the same factors
    };
    std::vector<PairRange> pair_ranges_;
    std::vector<float> reduced_;  // the products of rows with an adapter's first factor
    struct ExpertItem {
        std::int64_t expert, item;
    };
    std::vector<ExpertItem> expert_items_;
};

}  // namespace voltpile::llm
