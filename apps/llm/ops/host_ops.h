// The part of Ops that ReferenceOps and CpuOps share: memory, matrices, copies, embedding, and the sentinel.
#pragma once

#include <memory>
#include <vector>

#include "llm/ops/half_limit.h"
#include "llm/ops/host_rows.h"

namespace voltpile::llm {

// A matrix in host memory, in any layout.
class HostWeights : public WeightMatrix {
  public:
    using WeightMatrix::WeightMatrix;
    // Writes rows [begin, end) to `to` in the layout of files, contiguously.
    virtual void read_rows(std::int64_t begin, std::int64_t end, std::byte* to) const = 0;
};

// A matrix in the file's layout: a view of the mapped file if source.stays, otherwise a copy.
class HostMatrix final : public HostWeights {
  public:
    explicit HostMatrix(const MatrixSource& source);
    void read_rows(std::int64_t begin, std::int64_t end, std::byte* to) const override;
    const std::byte* row(std::int64_t index) const { return data_ + row_bytes_ * index; }

  private:
    std::vector<std::byte> copy_;
    const std::byte* data_;
    std::int64_t row_bytes_;
};

// The factors of adapters in fp32.
class HostAdapters final : public AdapterWeights {
  public:
    explicit HostAdapters(const AdapterSource& source);
    // Of one adapter, which must have a rank: (matrices * rank, columns).
    const HostMatrix& a(int adapter) const { return *a_[static_cast<std::size_t>(adapter)]; }
    // Of one adapter and matrix: (rank, rows of the matrix).
    const float* b(int adapter, int matrix) const {
        const auto at = static_cast<std::size_t>(adapter);
        return b_[at].data() + row_begin()[static_cast<std::size_t>(matrix)] * ranks()[at];
    }

  private:
    std::vector<std::unique_ptr<HostMatrix>> a_;  // of each adapter
    std::vector<std::vector<float>> b_;
};

class HostOps : public HostRowOps {
  public:
    Element hidden_element() const override { return Element::F32; }
    bool batch_invariant() const override { return true; }

    std::unique_ptr<OpsMemory> allocate(std::size_t bytes) override;
    std::unique_ptr<OpsMemory> allocate_on_host(std::size_t bytes) override { return allocate(bytes); }
    void copy_rows(const StridedRows& to, const StridedRows& from, std::size_t bytes,
                   std::size_t rows) override;
    void upload(void* to, const void* from_host, std::size_t bytes) override;
    void download(void* to_host, const void* from, std::size_t bytes) override;
    std::unique_ptr<HostCopy> make_host_copy(std::size_t most_bytes) override;
    void synchronize() override {}
    std::unique_ptr<WeightMatrix> load_matrix(const MatrixSource& source) override;
    std::unique_ptr<ExpertWeights> join_experts(std::vector<std::unique_ptr<WeightMatrix>> experts,
                                                std::unique_ptr<OpsMemory> bias) override;
    // All memory is host memory here: experts are computed as those of the device.
    std::unique_ptr<HostExperts> make_host_experts(const HostExpertShape& shape) override;
    std::unique_ptr<JointSums> make_joint_sums(std::unique_ptr<PeerArea>, std::int64_t,
                                               std::int64_t) override {
        return nullptr;
    }
    std::unique_ptr<AdapterWeights> load_adapters(const AdapterSource& source) override;
    std::unique_ptr<Recording> record(std::function<void()> enqueue) override;

    void adapted_gated_matmul(const RmsNorm& x, const WeightMatrix& gate, const WeightMatrix& up,
                              Activation activation, const AdapterWeights& adapters, const BatchView& batch,
                              HiddenRows both, HiddenRows out) override;
    void embed(const WeightMatrix& table, const BatchView& batch, float scale, FloatRows x) override;
    SentinelReport take_sentinel() override;

  protected:
    explicit HostOps(bool clamp) : limit_(half_limit(clamp)) {}

    // out[r, j] = activation(x[r, j]) * x[r, n + j], with n = out.columns: the second step of gated_matmul.
    virtual void gate(HiddenRows x, Activation activation, HiddenRows out) = 0;

    // Clamps keys or values, the only activations that are stored as fp16 here. Does nothing without a clamp.
    void limit(float* values, std::int64_t count) const;
    // Records the place if it is the first of the pass. Only the thread that calls the operations may call
    // it.
    void trip(SentinelPlace place, int row);

  private:
    float limit_;
    SentinelReport sentinel_;
    std::vector<std::byte> table_row_;  // of an embedding
};

inline const HostMatrix& host(const WeightMatrix& matrix) {
    return static_cast<const HostMatrix&>(matrix);
}
inline const HostAdapters& host(const AdapterWeights& adapters) {
    return static_cast<const HostAdapters&>(adapters);
}

// Returns the index of a token and KV head in the cache: its key or value begins at byte index *
// kv_number_bytes(), its scales at byte index * kv_scale_bytes().
inline std::int64_t cached_token(const BatchView& batch, const QkvSettings& settings, int sequence,
                                 int position, int kv_head) {
    const std::int64_t page =
        batch.page_table[static_cast<std::int64_t>(sequence) * batch.max_pages + position / kv_page_tokens];
    return (page * settings.kv_heads + kv_head) * kv_page_tokens + position % kv_page_tokens;
}

}  // namespace voltpile::llm
