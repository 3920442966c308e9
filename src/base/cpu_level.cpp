#include "base/cpu_level.h"

#include <fmt/format.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdlib>

#include "base/error.h"

namespace voltpile {
namespace {

struct LevelName {
    std::string_view name;     // for people
    std::string_view setting;  // in VOLTPILE_CPU_LEVEL
};

// In the order of CpuLevel.
constexpr LevelName level_names[] = {{"baseline", "baseline"}, {"AVX2", "avx2"}, {"AVX-512", "avx512"}};

CpuLevel supported_cpu_level() {
#if defined(__x86_64__)
    // These checks include whether the operating system saves the wide registers.
    const bool avx2 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx2) return avx512 ? CpuLevel::Avx512 : CpuLevel::Avx2;
#endif
    return CpuLevel::Baseline;
}

}  // namespace

std::string_view name(CpuLevel level) {
    return level_names[static_cast<int>(level)].name;
}

CpuLevel choose_cpu_level(CpuLevel supported, const char* wanted) {
    const std::string_view word = wanted == nullptr ? "" : wanted;
    if (word.empty()) return supported;
    for (const CpuLevel level : {CpuLevel::Baseline, CpuLevel::Avx2, CpuLevel::Avx512}) {
        if (word != level_names[static_cast<int>(level)].setting) continue;
        if (level > supported)
            throw MachineError(fmt::format("VOLTPILE_CPU_LEVEL={}: this processor has {} only", word,
                                           level_names[static_cast<int>(supported)].setting));
        return level;
    }
    throw JobError(
        fmt::format("VOLTPILE_CPU_LEVEL={}: unknown level; use baseline, avx2 or avx512, or unset it", word));
}

CpuLevel cpu_level() {
    return choose_cpu_level(supported_cpu_level(), std::getenv("VOLTPILE_CPU_LEVEL"));
}

bool has_avx512_vnni() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

bool may_use_amx() {
#if defined(__x86_64__) && defined(__linux__)
    static const bool granted = [] {
        if (!__builtin_cpu_supports("amx-tile") || !__builtin_cpu_supports("amx-int8")) return false;
        constexpr int request_permission = 0x1023, tile_data = 18;  // of <asm/prctl.h>, Linux 5.16 and newer
        return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
    }();
    const char* level = std::getenv("VOLTPILE_CPU_LEVEL");
    return granted && (level == nullptr || *level == 0);
#else
    return false;
#endif
}

std::vector<CpuLevel> usable_cpu_levels() {
    std::vector<CpuLevel> levels;
    for (int level = static_cast<int>(cpu_level()); level >= 0; --level)
        levels.push_back(static_cast<CpuLevel>(level));
    return levels;
}

}  // namespace voltpile
