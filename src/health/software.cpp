#include "health/software.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace voltpile {
namespace {

// GPUs before Turing, which CUDA 13 dropped: Volta, Pascal and Maxwell.
bool needs_cuda_12(std::string_view gpu) {
    constexpr std::array<std::string_view, 9> names{"V100", "GV100",  "TITAN V", "P100",    "P40",
                                                    "P4",   "GTX 10", "GTX 9",   "TITAN Xp"};
    return std::ranges::any_of(names, [&](std::string_view name) {
        const std::size_t at = gpu.find(name);
        if (at == gpu.npos) return false;
        const std::size_t end = at + name.size();
        // "P4" is no "P400", but "GTX 10" is "GTX 1060" and "V100" is "V100-SXM2".
        const bool is_series = name.starts_with("GTX");
        return is_series || end == gpu.size() || gpu[end] == '-' || gpu[end] == ' ';
    });
}

}  // namespace

std::vector<NodeFinding> check_software(const NodeGpus& node, const std::string& program_cuda) {
    std::vector<NodeFinding> findings;
    const int built_with = std::atoi(program_cuda.c_str());  // 0 for "no"
    if (built_with == 0) return findings;
    if (node.cuda_version > 0 && node.cuda_version / 1000 < built_with)
        findings.push_back({Health::Degraded,
                            fmt::format("the driver {} serves CUDA {}.{}, but this program needs CUDA {}",
                                        node.driver_version, node.cuda_version / 1000,
                                        node.cuda_version % 1000 / 10, built_with),
                            "install a newer driver, or a program built with an older CUDA"});
    constexpr int dropped_old_gpus = 13;
    for (std::size_t i = 0; i < node.gpus.size() && built_with >= dropped_old_gpus; ++i)
        if (needs_cuda_12(node.gpus[i].name))
            findings.push_back(
                {Health::Degraded,
                 fmt::format("GPU {} ({}): CUDA {}, which this program was built with, does not "
                             "serve {}",
                             i, node.gpus[i].bus_id, built_with, node.gpus[i].name),
                 "build it with CUDA 12: make sm70"});
    return findings;
}

}  // namespace voltpile
