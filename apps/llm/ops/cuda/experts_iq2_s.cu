#include "llm/ops/cuda/expert_matvec.cuh"
#include "llm/ops/cuda/expert_tiles.cuh"

namespace voltpile::llm {

template void launch_expert_matvec_of<WeightFormat::IQ2_S>(const ExpertArgs&, int, const Stream&);
template void launch_expert_tiles_of<WeightFormat::IQ2_S>(const ExpertArgs&, int, const Stream&);

}  // namespace voltpile::llm
