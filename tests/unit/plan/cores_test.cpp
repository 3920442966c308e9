#include "plan/cores.h"

#include <gtest/gtest.h>

namespace voltpile {
namespace {

Host host(const std::string& name, int bits, double ghz = 1) {
    Host host;
    host.cpu_name = name;
    host.simd_bits = bits;
    host.cpu_ghz = ghz;
    return host;
}

// "# of AVX-512 FMA Units" on Intel's product pages.
TEST(Cores, KnowsVectorUnitsOfModels) {
    EXPECT_EQ(vector_units(host("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", 512)), 2);
    EXPECT_EQ(vector_units(host("Intel(R) Xeon(R) Platinum 8160 CPU @ 2.10GHz", 512)), 2);
    EXPECT_EQ(vector_units(host("Intel(R) Xeon(R) Silver 4110 CPU @ 2.10GHz", 512)), 1);
    EXPECT_EQ(vector_units(host("Intel(R) Xeon(R) Silver 4314 CPU @ 2.40GHz", 512)), 2);
    EXPECT_EQ(vector_units(host("Intel(R) Xeon(R) Gold 5118 CPU @ 2.30GHz", 512)), 1);
    EXPECT_EQ(vector_units(host("Intel(R) Xeon(R) Gold 5122 CPU @ 3.60GHz", 512)), 2);
    EXPECT_EQ(vector_units(host("AMD EPYC 9354 32-Core Processor", 512)), 1);
    EXPECT_EQ(vector_units(host("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", 256)), 2);
    EXPECT_EQ(vector_units(host("AMD EPYC 7302 16-Core Processor", 256)), 2);
}

// Pair-steps per second of one core (Euler, FP64, 133 instructions) with the kernels of each width on a
// virtual machine: docs/benchmarks.md. The machine reports a wrong clock, so the test allows a factor of 1.6;
// the time limit of a batch job has a margin of 1.5.
TEST(Cores, AgreesWithMeasurements) {
    const struct {
        Host host;
        double rate;
    } measured[] = {{host("Intel(R) Xeon(R) Processor", 512, 2.6), 2.07e8},
                    {host("Intel(R) Xeon(R) Processor", 256, 2.6), 1.40e8},
                    {host("Intel(R) Xeon(R) Processor", 128, 2.6), 5.59e7}};
    for (const auto& each : measured) {
        const double estimate = core_lanes_per_s(each.host, true) / 133;
        EXPECT_GT(estimate, each.rate / 1.6) << each.host.simd_bits;
        EXPECT_LT(estimate, each.rate * 1.6) << each.host.simd_bits;
    }
    EXPECT_EQ(core_lanes_per_s(host("", 256), false), 2 * core_lanes_per_s(host("", 256), true));
}

}  // namespace
}  // namespace voltpile
