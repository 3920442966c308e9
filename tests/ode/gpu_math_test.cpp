// Divisions and square roots without branches are those of IEEE 754 on a GPU, as far as they say so.
#include <gtest/gtest.h>

#include "device/device.h"
#if VOLTPILE_CUDA
#include "device/buffer.h"
#include "device/kernel_cache.h"
#include "device/loaded_kernel.h"
#include "ode/kernel_source.h"
#endif

namespace voltpile::ode::testing {
namespace {

class GpuOdeMath : public ::testing::Test {
  protected:
    void SetUp() override {
        if (device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
    }
};

#if VOLTPILE_CUDA

// Operands: any bits, or moderate exponents with mantissas next to powers of 2, where rounding is hardest, or
// 0.
constexpr const char* kCompare = R"(
#include "ode/quick_math.h"
using namespace voltpile;
using namespace voltpile::ode;

__device__ std::uint64_t draw(std::uint64_t& state) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}
__device__ double operand(std::uint64_t& state) {
    const std::uint64_t kind = draw(state) % 8, bits = draw(state);
    if (kind == 0) return number_of(bits & 0x8000000000000000);
    if (kind < 3) return number_of(bits);
    const std::uint64_t exponent = (std::uint64_t{1003} + bits % 40) << 52;
    std::uint64_t mantissa = draw(state) & 0xfffffffffffff;
    if (kind == 3) mantissa >>= 8 + bits % 44;
    if (kind == 4) mantissa = 0xfffffffffffff - (mantissa >> (8 + bits % 44));
    return number_of(exponent | mantissa | (bits & 0x8000000000000000));
}
__global__ void compare(unsigned long long* counts, int rounds) {
    std::uint64_t state = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) << 32;
    for (int i = 0; i < rounds; ++i) {
        const double a = operand(state), b = operand(state);
        QuickMath division, root;
        const double q = division.quotient(a, b), r = root.root(a);
        const ExactMath exact;
        if (division.sound) atomicAdd(&counts[bits_of(q) == bits_of(exact.quotient(a, b)) ? 0 : 1], 1ULL);
        if (root.sound) atomicAdd(&counts[bits_of(r) == bits_of(exact.root(a)) ? 2 : 3], 1ULL);
    }
}
)";

TEST_F(GpuOdeMath, SoundResultsAreExact) {
    const Stream stream;
    KernelSource source;
    source.text = kCompare;
    source.headers = kernel_headers();
    source.kernel = "compare";
    const LoadedKernel kernel(Nvrtc().compile(source, device_info(0).compute_capability));
    DeviceBuffer<unsigned long long> counts(4);
    set_to_zero(counts.data(), counts.bytes(), stream);
    constexpr int blocks = 1000, threads = 256, rounds = 400;
    unsigned long long* to = counts.data();
    int each = rounds;
    void* arguments[] = {&to, &each};
    kernel.launch(blocks, threads, arguments, stream);
    PinnedBuffer<unsigned long long> seen(4);
    copy_to_host(seen.data(), counts.data(), counts.bytes(), stream);
    stream.synchronize();
    constexpr unsigned long long total = 1ULL * blocks * threads * rounds;
    EXPECT_EQ(seen.data()[1], 0u) << "quotients of " << seen.data()[0];
    EXPECT_EQ(seen.data()[3], 0u) << "roots of " << seen.data()[2];
    EXPECT_GT(seen.data()[0], total / 2);
    EXPECT_GT(seen.data()[2], total / 4);  // half of the numbers are negative
}

#endif

}  // namespace
}  // namespace voltpile::ode::testing
