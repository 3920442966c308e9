#include "plan/topology.h"

namespace voltpile {
namespace {

// FP64 and FP32 instructions per clock and multiprocessor, from the table of arithmetic throughput in the
// CUDA programming guide.
struct Throughput {
    double fp64, fp32;
};
Throughput throughput_of(int compute_capability) {
    switch (compute_capability) {
        case 60:
            return {32, 64};
        case 61:
            return {4, 128};
        case 70:
            return {32, 64};
        case 80:
            return {32, 64};
        case 90:
            return {64, 128};
        case 100:
            return {64, 128};
        case 75:
            return {2, 64};
        default:
            return {2, 128};
    }
}

}  // namespace

void set_throughput(Gpu& gpu) {
    const Throughput throughput = throughput_of(gpu.compute_capability);
    gpu.fp64_per_clock = throughput.fp64;
    gpu.fp32_per_clock = throughput.fp32;
}

}  // namespace voltpile
