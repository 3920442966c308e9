#include "llm/ops/cuda/matvec.cuh"

namespace voltpile::llm {

template void launch_matvec_of<WeightFormat::Q6_K>(const MatmulArgs&, int, const Stream&);

}  // namespace voltpile::llm
