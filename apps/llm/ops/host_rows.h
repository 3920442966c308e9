// Operations that copy rows, as ReferenceOps and CpuOps compute them.
#pragma once

#include <algorithm>

#include "llm/ops/ops.h"

namespace voltpile::llm {

inline FloatRows host(HiddenRows x) {
    return {static_cast<float*>(x.data), x.rows, x.columns};
}

class HostRowOps : public Ops {
  public:
    void gather_rows(HiddenRows x, const BatchView& batch, HiddenRows out) override {
        gather(host(x), batch, host(out));
    }
    void gather_float_rows(FloatRows x, const BatchView& batch, FloatRows out) override {
        gather(x, batch, out);
    }
    void store_rows(HiddenRows x, const BatchView& batch, HiddenRows to) override {
        for (int r = 0; r < batch.rows; ++r) {
            if (batch.sequence[r] < 0) continue;
            const std::int64_t page =
                batch.page_table[static_cast<std::int64_t>(batch.sequence[r]) * batch.max_pages +
                                 batch.position[r] / kv_page_tokens];
            const std::int64_t row = page * kv_page_tokens + batch.position[r] % kv_page_tokens;
            std::copy_n(host(x).data + r * x.columns, x.columns, host(to).data + row * x.columns);
        }
    }
    void recall_rows(HiddenRows from, const BatchView& batch, FloatRows out) override {
        for (int r = 0; r < batch.rows; ++r)
            std::copy_n(host(from).data + batch.hidden_row[r] * out.columns, out.columns,
                        out.data + r * out.columns);
    }
    void gather_columns(HiddenRows x, const std::int32_t* order, HiddenRows out) override {
        for (std::int64_t r = 0; r < x.rows; ++r)
            for (std::int64_t j = 0; j < out.columns; ++j)
                host(out).data[r * out.columns + j] = host(x).data[r * x.columns + order[j]];
    }
    void join_columns(FloatRows parts, std::span<const std::int64_t> column_begin, FloatRows out) override {
        for (std::size_t k = 0; k + 1 < column_begin.size(); ++k) {
            const std::int64_t columns = column_begin[k + 1] - column_begin[k];
            const float* piece = parts.data + static_cast<std::int64_t>(k) * out.rows * parts.columns;
            for (std::int64_t r = 0; r < out.rows; ++r)
                std::copy_n(piece + r * columns, columns, out.data + r * out.columns + column_begin[k]);
        }
    }

  private:
    static void gather(FloatRows x, const BatchView& batch, FloatRows out) {
        for (int i = 0; i < batch.logits; ++i)
            std::copy_n(x.data + batch.logit_row[i] * x.columns, x.columns, out.data + i * out.columns);
    }
};

}  // namespace voltpile::llm
