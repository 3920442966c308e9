#include "llm/ops/cuda/loaded_code.h"

#include "device/launch.cuh"

namespace voltpile::llm {

namespace {

__global__ void do_nothing() {}

}  // namespace

int loaded_code() {
    cudaFuncAttributes attributes{};
    cuda_check(cudaFuncGetAttributes(&attributes, do_nothing), "asking for what the GPU's code was compiled");
    return attributes.ptxVersion;
}

}  // namespace voltpile::llm
