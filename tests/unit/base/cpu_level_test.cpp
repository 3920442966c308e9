#include "base/cpu_level.h"

#include <gtest/gtest.h>

#include "base/error.h"

using namespace voltpile;

TEST(CpuLevel, IsTheProcessorsUnlessAnotherIsWanted) {
    EXPECT_EQ(choose_cpu_level(CpuLevel::Avx512, nullptr), CpuLevel::Avx512);
    EXPECT_EQ(choose_cpu_level(CpuLevel::Avx2, ""), CpuLevel::Avx2);
}

TEST(CpuLevel, CanBeLowered) {
    EXPECT_EQ(choose_cpu_level(CpuLevel::Avx512, "avx2"), CpuLevel::Avx2);
    EXPECT_EQ(choose_cpu_level(CpuLevel::Avx512, "baseline"), CpuLevel::Baseline);
    EXPECT_EQ(choose_cpu_level(CpuLevel::Avx512, "avx512"), CpuLevel::Avx512);
}

TEST(CpuLevel, RejectsWhatTheProcessorLacks) {
    try {
        choose_cpu_level(CpuLevel::Avx2, "avx512");
        FAIL();
    } catch (const MachineError& error) {
        EXPECT_STREQ(error.what(), "VOLTPILE_CPU_LEVEL=avx512: this processor has avx2 only");
    }
}

TEST(CpuLevel, RejectsUnknownNames) {
    try {
        choose_cpu_level(CpuLevel::Avx2, "AVX2");
        FAIL();
    } catch (const JobError& error) {
        EXPECT_STREQ(error.what(),
                     "VOLTPILE_CPU_LEVEL=AVX2: unknown level; use baseline, avx2 or avx512, or unset it");
    }
}

TEST(CpuLevel, ListsUsableLevelsFromTheHighestToTheBaseline) {
    const auto levels = usable_cpu_levels();
    EXPECT_EQ(levels.front(), cpu_level());
    EXPECT_EQ(levels.back(), CpuLevel::Baseline);
    EXPECT_EQ(levels.size(), static_cast<std::size_t>(cpu_level()) + 1);
}

TEST(CpuLevel, SelectsTheCodeOfEveryUsableLevel) {
    for (const CpuLevel level : usable_cpu_levels())
        EXPECT_EQ(at_cpu_level(level, []<CpuLevel compiled>() { return compiled; }), level);
}
