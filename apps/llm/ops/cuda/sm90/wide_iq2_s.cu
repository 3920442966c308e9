#include "llm/ops/cuda/sm90/wide_product.cuh"

namespace voltpile::llm {

template void launch_wide_tiles_of<WeightFormat::IQ2_S>(const TileArgs&, int, const Stream&);

}  // namespace voltpile::llm
