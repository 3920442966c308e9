// What the operations on processors share: memory, matrices as they lie in the file, copies, the sentinel.
#pragma once

#include <memory>
#include <vector>

#include "llm/ops/half_limit.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

// In the file's own layout; the data are the mapped file's or a copy.
class HostMatrix : public WeightMatrix {
  public:
    explicit HostMatrix(const MatrixSource& source);
    const std::byte* row(std::int64_t index) const { return data_ + row_bytes_ * index; }

  private:
    std::vector<std::byte> copy_;
    const std::byte* data_;
    std::int64_t row_bytes_;
};

class HostOps : public Ops {
  public:
    Element hidden_element() const override { return Element::F32; }

    std::unique_ptr<OpsMemory> allocate(std::size_t bytes) override;
    void upload(void* to, const void* from_host, std::size_t bytes) override;
    void download(void* to_host, const void* from, std::size_t bytes) override;
    std::unique_ptr<HostCopy> make_host_copy(std::size_t most_bytes) override;
    void synchronize() override {}
    std::unique_ptr<WeightMatrix> load_matrix(const MatrixSource& source) override;
    std::unique_ptr<Recording> record(std::function<void()> enqueue) override;

    void embed(const WeightMatrix& table, const BatchView& batch, FloatRows x) override;
    void gather_rows(HiddenRows x, const BatchView& batch, HiddenRows out) override;
    void gather_float_rows(FloatRows x, const BatchView& batch, FloatRows out) override;
    void join_columns(FloatRows parts, std::span<const std::int64_t> column_begin, FloatRows out) override;
    SentinelReport take_sentinel() override;

  protected:
    explicit HostOps(bool clamp) : limit_(half_limit(clamp)) {}

    // Of keys or values on their way to the cache: the only activations here that become fp16.
    void limit(float* values, std::int64_t count) const;
    void trip(SentinelPlace place, int row);  // from the thread that calls the operations

  private:
    float limit_;
    SentinelReport sentinel_;
};

inline const HostMatrix& host(const WeightMatrix& matrix) {
    return static_cast<const HostMatrix&>(matrix);
}
inline FloatRows host(HiddenRows x) {
    return {static_cast<float*>(x.data), x.rows, x.columns};
}

// A token's place among all of the cache's: of page_table's row `sequence`. Keys and values begin at head_dim
// times it, in elements.
inline std::int64_t cached_token(const BatchView& batch, const QkvSettings& settings, int sequence,
                                 int position, int kv_head) {
    const std::int64_t page =
        batch.page_table[static_cast<std::int64_t>(sequence) * batch.max_pages + position / kv_page_tokens];
    return (page * settings.kv_heads + kv_head) * kv_page_tokens + position % kv_page_tokens;
}

}  // namespace voltpile::llm
