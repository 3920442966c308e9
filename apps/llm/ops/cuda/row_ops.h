// Operations that take and give rows on the GPU, without scratch memory.
#pragma once

#include "llm/ops/cuda/cuda_ops.h"

namespace voltpile::llm {

class CudaRowOps : public GpuOps {
  public:
    void soft_cap(FloatRows x, float cap) override;
    void gather_rows(HiddenRows x, const BatchView& batch, HiddenRows out) override;
    void gather_float_rows(FloatRows x, const BatchView& batch, FloatRows out) override;
    // Rows have an even number of columns.
    void store_rows(HiddenRows x, const BatchView& batch, HiddenRows to) override;
    void recall_rows(HiddenRows from, const BatchView& batch, FloatRows out) override;
    void gather_columns(HiddenRows x, const std::int32_t* order, HiddenRows out) override;
    void join_columns(FloatRows parts, std::span<const std::int64_t> column_begin, FloatRows out) override;
};

}  // namespace voltpile::llm
