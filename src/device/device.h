// Lists the GPUs that this process can see. Without CUDA or without a driver there are none.
#pragma once

#include <cstdint>
#include <string>

namespace voltpile {

// The message of the DeviceError that every device function throws in a build without CUDA.
inline constexpr const char* kNoCuda = "this program was built without CUDA";

struct DeviceInfo {
    std::string name;
    std::string pci_bus_id;      // "0000:1b:00.0"
    int compute_capability = 0;  // 70 for V100
    int multiprocessors = 0;
    double clock_ghz = 0;  // boost
    std::int64_t memory_bytes = 0;
    double memory_gb_per_s = 0;  // theoretical, gigabytes per second; 0: unknown
};

int device_count();

// index: 0 to device_count() - 1. Throws DeviceError for any other.
DeviceInfo device_info(int index);

// Selects the GPU for the calling thread's later device work. Throws DeviceError, also in a build without
// CUDA.
void use_device(int index);

// Returns the GPU that the calling thread uses. Throws DeviceError, also in a build without CUDA.
int current_device();

}  // namespace voltpile
