// The GPUs that this process can see. Built without CUDA, or without a driver, there are none.
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
};

int device_count();

// index: in 0 .. device_count() - 1. Throws DeviceError on any other.
DeviceInfo device_info(int index);

// Makes the calling thread's later device work go to this GPU. Throws DeviceError, also where there is no
// CUDA.
void use_device(int index);

}  // namespace voltpile
