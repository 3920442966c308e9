// The instruction sets that CPU kernels are compiled for, and the choice among them. The one place that asks
// the processor what it can run.
#pragma once

#include <string_view>
#include <vector>

namespace voltpile {

// Each level includes the ones before it. voltpile_cpu_kernels in src/CMakeLists.txt has the compiler's
// options for each.
enum class CpuLevel {
    Baseline,  // what every 64-bit processor has: SSE2 on x86
    Avx2,      // AVX2, FMA, F16C: Haswell, Zen and newer
    Avx512,    // AVX-512 F, BW, DQ, VL: Skylake-SP, Zen 4 and newer
};

// "AVX-512"
std::string_view name(CpuLevel level);

// Width of a SIMD register.
constexpr int register_bits(CpuLevel level) {
    return level == CpuLevel::Avx512 ? 512 : level == CpuLevel::Avx2 ? 256 : 128;
}

// Whether the level has fused multiply-add. Kernels give the same bits on all levels that have it.
constexpr bool has_fma(CpuLevel level) {
    return level != CpuLevel::Baseline;
}

// Returns the highest level that this processor and operating system can run, or the lower one that the
// environment variable VOLTPILE_CPU_LEVEL names (baseline, avx2, avx512). Throws JobError if it names no
// level, MachineError if the processor lacks that level.
CpuLevel cpu_level();

// Whether this processor has AVX-512 VNNI: integer dot products, which CpuLevel::Avx512 does not include.
bool has_avx512_vnni();

// Whether code of CpuLevel::Avx512, which does not include it, may use AMX for 8-bit integers: the processor
// has it, the system gave this process the tile registers, for which the first call asks, and
// VOLTPILE_CPU_LEVEL names no level.
bool may_use_amx();

// Returns cpu_level() and the levels below it, highest first.
std::vector<CpuLevel> usable_cpu_levels();

// Returns the level that `wanted` names, `supported` if it is nullptr or empty. Throws like cpu_level().
CpuLevel choose_cpu_level(CpuLevel supported, const char* wanted);

// Calls select.operator()<level>() for a level that is known only at run time.
template <class Select>
auto at_cpu_level([[maybe_unused]] CpuLevel level, const Select& select) {
#if defined(__x86_64__)
    if (level == CpuLevel::Avx512) return select.template operator()<CpuLevel::Avx512>();
    if (level == CpuLevel::Avx2) return select.template operator()<CpuLevel::Avx2>();
#endif
    return select.template operator()<CpuLevel::Baseline>();
}

}  // namespace voltpile
