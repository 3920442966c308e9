#include "llm/ops/cuda/dequantize.cuh"
#include "llm/ops/cuda/matvec.cuh"
#include "llm/ops/cuda/tile_product.cuh"

namespace voltpile::llm {

template void launch_dequantize_of<WeightFormat::F16>(const DeviceMatrix&, int, int, void*, const Stream&);
template void launch_embed_of<WeightFormat::F16>(const DeviceMatrix&, const BatchView&, float, int, float*,
                                                 const Stream&);
template void launch_matvec_of<WeightFormat::F16>(const MatmulArgs&, int, const Stream&);
template void launch_tiles_of<WeightFormat::F16>(const TileArgs&, const Stream&);

}  // namespace voltpile::llm
