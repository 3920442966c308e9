// Functions of the CUDA driver, loaded through the runtime, so that the program starts without a driver.
#pragma once

#include <cuda_runtime_api.h>

namespace voltpile {

// Returns null if the driver does not have the function.
template <class Function>
Function* driver_function(const char* name) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
    const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
    if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) {
        cudaGetLastError();
        return nullptr;
    }
    return reinterpret_cast<Function*>(function);
}

}  // namespace voltpile
