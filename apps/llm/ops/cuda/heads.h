// Operations on the heads of a row on the GPU.
#pragma once

#include "device/stream.h"
#include "llm/ops/cuda/matrix.h"
#include "llm/ops/operands.h"

namespace voltpile::llm {

// fp16 rows in GPU memory.
struct HeadRows {
    void* data = nullptr;
    int columns = 0;
    HeadColumns heads;
};

// Ops::matmul_heads. weight: F16. limit: half_limit().
void launch_matmul_heads(const HeadRows& x, const DeviceMatrix& weight, int heads, const HeadRows& out,
                         int rows, float limit, const Stream& stream);

// Ops::copy_heads.
void launch_copy_heads(const HeadRows& x, int heads, const HeadRows& out, int rows, const Stream& stream);

}  // namespace voltpile::llm
