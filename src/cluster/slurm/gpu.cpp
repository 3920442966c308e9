#include "cluster/slurm/gpu.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace voltpile {
namespace {

struct KnownGpu {
    std::string_view key;
    const char* name;
    int compute_capability;
    int multiprocessors;
    double boost_ghz;
    double memory_gb;
};

// From NVIDIA's data sheets. A key that is a prefix of another one comes after it.
constexpr std::array known_gpus{
    KnownGpu{"p100", "Tesla P100", 60, 56, 1.48, 16},
    KnownGpu{"p40", "Tesla P40", 61, 30, 1.53, 24},
    KnownGpu{"v100", "Tesla V100", 70, 80, 1.53, 16},
    KnownGpu{"t4", "Tesla T4", 75, 40, 1.59, 16},
    KnownGpu{"a100", "A100", 80, 108, 1.41, 40},
    KnownGpu{"a30", "A30", 80, 56, 1.44, 24},
    KnownGpu{"a40", "A40", 86, 84, 1.74, 48},
    KnownGpu{"a10", "A10", 86, 72, 1.69, 24},
    KnownGpu{"a6000", "RTX A6000", 86, 84, 1.80, 48},
    KnownGpu{"l40s", "L40S", 89, 142, 2.52, 48},
    KnownGpu{"l40", "L40", 89, 142, 2.49, 48},
    KnownGpu{"l4", "L4", 89, 58, 2.04, 24},
    KnownGpu{"h100", "H100", 90, 132, 1.98, 80},
    KnownGpu{"h200", "H200", 90, 132, 1.98, 141},
    KnownGpu{"gh200", "GH200", 90, 132, 1.98, 96},
    KnownGpu{"b200", "B200", 100, 148, 1.96, 180},
    KnownGpu{"1060", "GeForce GTX 1060", 61, 10, 1.71, 6},
    KnownGpu{"1080", "GeForce GTX 1080", 61, 20, 1.73, 8},
    KnownGpu{"2080", "GeForce RTX 2080", 75, 46, 1.71, 8},
    KnownGpu{"3060", "GeForce RTX 3060", 86, 28, 1.78, 12},
    KnownGpu{"3080", "GeForce RTX 3080", 86, 68, 1.71, 10},
    KnownGpu{"3090", "GeForce RTX 3090", 86, 82, 1.70, 24},
    KnownGpu{"4090", "GeForce RTX 4090", 89, 128, 2.52, 24},
};
constexpr std::string_view modest = "t4";

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Returns whether `key` occurs as a word: "l4" not in "l40", "a10" not in "a100", but "3090" in "rtx3090" and
// "v100" in "v100s".
bool names(std::string_view type, std::string_view key) {
    for (std::size_t at = type.find(key); at != std::string_view::npos; at = type.find(key, at + 1)) {
        const char before = at > 0 ? type[at - 1] : ' ';
        const char after = at + key.size() < type.size() ? type[at + key.size()] : ' ';
        const bool begins =
            is_digit(key.front()) ? !is_digit(before) : !std::isalnum(static_cast<unsigned char>(before));
        if (begins && !is_digit(after)) return true;
    }
    return false;
}

Gpu to_gpu(const KnownGpu& known) {
    Gpu gpu;
    gpu.name = known.name;
    gpu.compute_capability = known.compute_capability;
    gpu.multiprocessors = known.multiprocessors;
    gpu.clock_ghz = known.boost_ghz;
    gpu.memory_bytes = static_cast<std::int64_t>(known.memory_gb * 1e9);
    set_throughput(gpu);
    return gpu;
}

}  // namespace

SlurmGpu gpu_of_type(const std::string& type) {
    std::string lower = type;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const KnownGpu& known : known_gpus)
        if (names(lower, known.key)) return {to_gpu(known), true};
    const auto* fallback = std::find_if(known_gpus.begin(), known_gpus.end(),
                                        [](const KnownGpu& known) { return known.key == modest; });
    return {to_gpu(*fallback), false};
}

}  // namespace voltpile
