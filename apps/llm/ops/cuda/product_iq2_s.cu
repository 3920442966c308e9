#include "llm/ops/cuda/matvec.cuh"
#include "llm/ops/cuda/tile_product.cuh"

namespace voltpile::llm {

template void launch_matvec_of<WeightFormat::IQ2_S>(const MatmulArgs&, int, const Stream&);
template void launch_tiles_of<WeightFormat::IQ2_S>(const TileArgs&, const Stream&);

}  // namespace voltpile::llm
