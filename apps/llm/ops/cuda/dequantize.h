// The launchers of kernels that read rows of weights (dequantize.cuh).
#pragma once

#include "llm/ops/cuda/matmul.h"

namespace voltpile::llm {

// launch_dequantize() and launch_embed() (matmul.h) for weights of one layout: formats/product.cu.in.
template <WeightFormat format>
void launch_dequantize_of(const DeviceMatrix& w, int first_row, int rows, void* out, const Stream& stream);
template <WeightFormat format>
void launch_embed_of(const DeviceMatrix& w, const BatchView& batch, float scale, int columns, float* x,
                     const Stream& stream);

}  // namespace voltpile::llm
