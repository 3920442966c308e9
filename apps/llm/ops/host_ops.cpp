#include "llm/ops/host_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "llm/ops/dequantize.h"

namespace voltpile::llm {
namespace {

class HostMemory : public OpsMemory {
  public:
    explicit HostMemory(std::size_t bytes) {
        constexpr std::size_t alignment = 64;  // a cache line, and the widest register
        bytes_ = bytes;
        data_ = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
        if (data_ == nullptr) throw DeviceError(fmt::format("no memory for {} bytes on the host", bytes));
    }
    ~HostMemory() override { std::free(data_); }
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;
};

class CalledAgain : public Recording {
  public:
    explicit CalledAgain(std::function<void()> enqueue) : enqueue_(std::move(enqueue)) {}
    void replay() override { enqueue_(); }

  private:
    std::function<void()> enqueue_;
};

class CopiedAtOnce : public HostCopy {
  public:
    explicit CopiedAtOnce(std::size_t most_bytes) : memory_(most_bytes) {}
    void start(const void* from, std::size_t bytes) override {
        std::memcpy(memory_.data(), from, bytes);
        bytes_ = bytes;
    }
    std::span<const std::byte> wait() override { return std::span(memory_).first(bytes_); }

  private:
    std::vector<std::byte> memory_;
    std::size_t bytes_ = 0;
};

class ExpertsOfHost final : public HostExperts {
  public:
    explicit ExpertsOfHost(HostOps& ops) : ops_(ops) {}
    Ops& cores() override { return ops_; }
    void prepare(const ExpertLayer&) override {}
    void sum(HiddenRows x, const ExpertLayer& layer, const BatchView& batch, const Routing& routing,
             HiddenRows gated, FloatRows out, const std::function<void()>& meanwhile) override {
        if (meanwhile) meanwhile();
        if (layer.adapted_in(batch))
            added_.resize(std::max(added_.size(), static_cast<std::size_t>(gated.rows * 2 * gated.columns)));
        run_experts(ops_, x, layer, batch, routing, added_.data(), gated, out);
    }
    void check() const override {}

  private:
    HostOps& ops_;
    std::vector<float> added_;
};

std::int32_t token_of(const BatchView& batch, int row) {
    const std::int32_t token = batch.token[row];
    return token < 0 ? batch.drawn[-1 - token] : token;
}

}  // namespace

HostMatrix::HostMatrix(const MatrixSource& source)
    : HostWeights(source.format, source.rows, source.columns),
      data_(source.data),
      row_bytes_(static_cast<std::int64_t>(source.row_bytes)) {
    if (source.stays) return;
    const std::size_t bytes = llm::row_bytes(source.format, static_cast<std::size_t>(source.columns));
    copy_.resize(bytes * static_cast<std::size_t>(source.rows));
    for (std::int64_t r = 0; r < source.rows; ++r)
        std::memcpy(copy_.data() + static_cast<std::size_t>(r) * bytes, row(r), bytes);
    data_ = copy_.data();
    row_bytes_ = static_cast<std::int64_t>(bytes);
}

void HostMatrix::read_rows(std::int64_t begin, std::int64_t end, std::byte* to) const {
    const std::size_t bytes = llm::row_bytes(format(), static_cast<std::size_t>(columns()));
    if (static_cast<std::int64_t>(bytes) == row_bytes_) {
        std::memcpy(to, row(begin), static_cast<std::size_t>(end - begin) * bytes);
        return;
    }
    for (std::int64_t r = begin; r < end; ++r, to += bytes) std::memcpy(to, row(r), bytes);
}

HostAdapters::HostAdapters(const AdapterSource& source) : AdapterWeights(source) {
    for (const AdapterFactors& factors : source.adapters) {
        std::vector<float>& b = b_.emplace_back(factors.b.size());
        auto& a = a_.emplace_back();
        if (factors.rank == 0) continue;
        a = std::make_unique<HostMatrix>(
            MatrixSource{WeightFormat::F32, std::int64_t{factors.rank} * matrices(), columns(),
                         static_cast<std::size_t>(columns()) * sizeof(float),
                         reinterpret_cast<const std::byte*>(factors.a.data()), false});
        const auto rank = static_cast<std::size_t>(factors.rank);
        for (std::size_t m = 0; m < source.rows.size(); ++m) {
            const auto begin = static_cast<std::size_t>(row_begin()[m]) * rank,
                       rows = static_cast<std::size_t>(source.rows[m]);
            for (std::size_t j = 0; j < rows; ++j)
                for (std::size_t k = 0; k < rank; ++k)
                    b[begin + k * rows + j] = factors.b[begin + j * rank + k];
        }
    }
}

std::unique_ptr<OpsMemory> HostOps::allocate(std::size_t bytes) {
    return std::make_unique<HostMemory>(bytes);
}

std::unique_ptr<Recording> HostOps::record(std::function<void()> enqueue) {
    return std::make_unique<CalledAgain>(std::move(enqueue));
}

void HostOps::copy_rows(const StridedRows& to, const StridedRows& from, std::size_t bytes, std::size_t rows) {
    for (std::size_t row = 0; row < rows; ++row)
        std::memcpy(to.data + row * to.stride, from.data + row * from.stride, bytes);
}

void HostOps::upload(void* to, const void* from_host, std::size_t bytes) {
    if (bytes != 0) std::memcpy(to, from_host, bytes);
}

void HostOps::download(void* to_host, const void* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(to_host, from, bytes);
}

std::unique_ptr<HostCopy> HostOps::make_host_copy(std::size_t most_bytes) {
    return std::make_unique<CopiedAtOnce>(most_bytes);
}

std::unique_ptr<WeightMatrix> HostOps::load_matrix(const MatrixSource& source) {
    return std::make_unique<HostMatrix>(source);
}

std::unique_ptr<AdapterWeights> HostOps::load_adapters(const AdapterSource& source) {
    return std::make_unique<HostAdapters>(source);
}

void HostOps::adapted_gated_matmul(const RmsNorm& x, const WeightMatrix& gate_matrix, const WeightMatrix& up,
                                   Activation activation, const AdapterWeights& adapters,
                                   const BatchView& batch, HiddenRows both, HiddenRows out) {
    const WeightMatrix* const weights[] = {&gate_matrix, &up};
    norm_matmul(x, weights, both);
    add_adapters(x.out, adapters, batch, both);
    gate(both, activation, out);
}

std::unique_ptr<HostExperts> HostOps::make_host_experts(const HostExpertShape&) {
    return std::make_unique<ExpertsOfHost>(*this);
}

std::unique_ptr<ExpertWeights> HostOps::join_experts(std::vector<std::unique_ptr<WeightMatrix>> experts,
                                                     std::unique_ptr<OpsMemory> bias) {
    return std::make_unique<ExpertWeights>(std::move(experts), std::move(bias));
}

void HostOps::embed(const WeightMatrix& table, const BatchView& batch, float scale, FloatRows x) {
    table_row_.resize(row_bytes(table.format(), static_cast<std::size_t>(table.columns())));
    for (int r = 0; r < batch.rows; ++r) {
        float* to = x.data + r * x.columns;
        // A draw from unusable logits is -1.
        const std::int32_t token = batch.sequence[r] < 0 ? -1 : token_of(batch, r);
        if (token < 0) {
            std::fill_n(to, x.columns, 0.0F);
            continue;
        }
        static_cast<const HostWeights&>(table).read_rows(token, token + 1, table_row_.data());
        dequantize_row(table.format(), table_row_.data(), x.columns, to);
        for (std::int64_t c = 0; scale != 1 && c < x.columns; ++c) to[c] *= scale;
    }
}

SentinelReport HostOps::take_sentinel() {
    return std::exchange(sentinel_, {});
}

void HostOps::limit(float* values, std::int64_t count) const {
    if (std::isinf(limit_)) return;
    for (std::int64_t i = 0; i < count; ++i)
        if (std::abs(values[i]) > limit_) values[i] = std::copysign(limit_, values[i]);
}

void HostOps::trip(SentinelPlace place, int row) {
    if (!sentinel_.tripped) sentinel_ = {true, place, row};
}

}  // namespace voltpile::llm
