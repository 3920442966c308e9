// Programmatic dependent launch: a kernel may begin while those before it in the stream still run, load what
// none of them writes, and then wait for their end. So the time in which one kernel drains and the next one
// starts passes once, not twice. Compute capability 9.0; elsewhere kernels begin when the ones before end.
#pragma once

#include "device/capability.h"
#include "device/launch.cuh"

namespace voltpile::llm {

// Whether device code may begin early. It then leaves registers to what comes next.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr bool begins_early = true;
#else
constexpr bool begins_early = false;
#endif

// All threads of a kernel that launch_early() starts call these two, in this order, before any thread returns
// and before it reads or writes memory that earlier kernels use. What kernels do not write during a pass may
// be read before: weights, whose loading has ended with a synchronization; the batch, and what earlier passes
// have left in the KV cache, because each pass begins with the upload of its batch, which waits for all
// kernels before it.
//
// Four kinds of kernels call them in the other order: gated products in expert_matvec.cuh and
// expert_rows.cuh, products with MatmulArgs::beside_next, attention of several single rows, and products of
// integers, of which one warp lets the next kernel begin when the last weights are there or, with one row, on
// their way. Everything before such a kernel is then complete when the next one begins, so the next one may
// read it without waiting, but past the L1 cache, which may hold old numbers. A kernel that does not wait
// before its work has to wait before it ends, because later kernels wait only for it. This relies on GPUs of
// compute capability 9.0, where a wait returns once the writes of earlier kernels are in the L2 cache; the
// PTX manual does not promise it. A gated product that chooses the experts itself lets the next kernel begin
// when it has written the routing, behind a fence.
__device__ __forceinline__ void let_next_kernel_begin() {
    if constexpr (begins_early) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ __forceinline__ void wait_for_earlier_kernels() {
    if constexpr (begins_early) asm volatile("griddepcontrol.wait;" ::: "memory");
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

// As launch(), for kernels that call the functions above. Each `cluster` blocks next to each other in the
// first dimension form a cluster and run at the same time; `cluster` is 1 unless device_launches_early().
template <class... Parameters, class... Arguments>
void launch_early_in_clusters(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape,
                              int cluster, const Stream& stream, Arguments&&... arguments) {
    cudaLaunchAttribute attributes[2];
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.blocks_y),
                          static_cast<unsigned>(shape.blocks_z));
    config.blockDim = dim3(static_cast<unsigned>(shape.threads));
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = stream.get();
    config.attrs = attributes;
    config.numAttrs = !device_launches_early() ? 0 : cluster == 1 ? 1 : 2;
    const cudaError_t error = cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
    if (error != cudaSuccess) throw_device_error(error, name);
}
template <class... Parameters, class... Arguments>
void launch_early(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape,
                  const Stream& stream, Arguments&&... arguments) {
    launch_early_in_clusters(name, kernel, shape, 1, stream, static_cast<Arguments&&>(arguments)...);
}

}  // namespace voltpile::llm
