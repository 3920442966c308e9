#include "device/device.h"

#include <fmt/format.h>

#include "base/error.h"
#if VOLTPILE_CUDA
#include "device/check.h"
#endif

namespace voltpile {

#if VOLTPILE_CUDA

int device_count() {
    int count = 0;
    // A missing driver or device is not an error: there are zero devices then.
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    return count;
}

DeviceInfo device_info(int index) {
    cudaDeviceProp properties;
    cuda_check(cudaGetDeviceProperties(&properties, index),
               fmt::format("reading properties of GPU {}", index).c_str());
    int clock_khz = 0;
    cuda_check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, index), "reading the clock rate");
    int memory_khz = 0, bus_bits = 0;
    cuda_check(cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, index),
               "reading the memory clock");
    cuda_check(cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, index),
               "reading the width of the memory bus");
    char bus_id[32] = {};
    cuda_check(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, index), "reading the PCI bus id");

    DeviceInfo info;
    info.name = properties.name;
    info.pci_bus_id = bus_id;
    info.compute_capability = 10 * properties.major + properties.minor;
    info.multiprocessors = properties.multiProcessorCount;
    info.clock_ghz = clock_khz * 1e-6;
    info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    info.memory_gb_per_s = 2e-6 * memory_khz * (bus_bits / 8.0);  // double data rate
    return info;
}

void use_device(int index) {
    cuda_check(cudaSetDevice(index), fmt::format("choosing GPU {}", index).c_str());
}

int current_device() {
    int index = 0;
    cuda_check(cudaGetDevice(&index), "asking which GPU is in use");
    return index;
}

#else

int device_count() {
    return 0;
}

DeviceInfo device_info(int index) {
    throw DeviceError(fmt::format("GPU {}: this program was built without CUDA", index));
}

void use_device(int index) {
    throw DeviceError(fmt::format("GPU {}: this program was built without CUDA", index));
}

int current_device() {
    throw DeviceError(kNoCuda);
}

#endif

}  // namespace voltpile
