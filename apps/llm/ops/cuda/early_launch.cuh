// Programmatic dependent launch: a kernel may begin while those before it in the stream still run, load what
// none of them writes, and then wait for their end. So the time in which one kernel drains and the next one
// starts passes once, not twice. Compute capability 9.0; elsewhere kernels begin when the ones before end.
#pragma once

#include "device/capability.h"
#include "device/launch.cuh"

namespace voltpile::llm {

// All threads of a kernel that launch_early() starts call these two, in this order, before any thread returns
// and before it reads or writes memory that earlier kernels use. What kernels do not write during a pass may
// be read before: weights, whose loading has ended with a synchronization; the batch, and what earlier passes
// have left in the KV cache, because each pass begins with the upload of its batch, which waits for all
// kernels before it.
__device__ __forceinline__ void let_next_kernel_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void wait_for_earlier_kernels() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// For kernels that have nothing to do before.
__device__ __forceinline__ void begin_after_earlier_kernels() {
    let_next_kernel_begin();
    wait_for_earlier_kernels();
}

// Returns true if the current GPU runs kernels compiled with the instructions above.
inline bool device_launches_early() {
    return VOLTPILE_SM90 != 0 && current_compute_capability() == 90;
}

// As launch(), for kernels that call the functions above.
template <class... Parameters, class... Arguments>
void launch_early(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape,
                  const Stream& stream, Arguments&&... arguments) {
    cudaLaunchAttribute early;
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.blocks_y),
                          static_cast<unsigned>(shape.blocks_z));
    config.blockDim = dim3(static_cast<unsigned>(shape.threads));
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = stream.get();
    config.attrs = &early;
    config.numAttrs = device_launches_early() ? 1 : 0;
    const cudaError_t error = cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
    if (error != cudaSuccess) throw_device_error(error, name);
}

}  // namespace voltpile::llm
