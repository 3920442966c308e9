#include "measure/host_caches.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "base/kernel_files.h"

namespace voltpile {
namespace {

// The kernel writes sizes as "1024K".
std::int64_t size_in(const std::filesystem::path& file) {
    return std::int64_t{1024} * std::atoll(first_line(file).c_str());
}

}  // namespace

std::int64_t last_level_cache_bytes(const std::vector<int>& pus) {
    const bool all = std::ranges::find(pus, -1) != pus.end();
    std::map<std::string, std::int64_t> sizes;  // by the threads that share the cache
    for (const std::filesystem::path& cpu : sorted_entries(sys_folder() / "devices/system/cpu")) {
        const std::string name = cpu.filename();
        const bool asked =
            std::ranges::any_of(pus, [&](int pu) { return name == "cpu" + std::to_string(pu); });
        if (!asked && !all) continue;
        int highest = 0;
        std::filesystem::path last;
        for (const std::filesystem::path& cache : sorted_entries(cpu / "cache")) {
            const int level = std::atoi(first_line(cache / "level").c_str());
            if (level <= highest || first_line(cache / "type") == "Instruction") continue;
            highest = level;
            last = cache;
        }
        if (highest > 0) sizes[first_line(last / "shared_cpu_list")] = size_in(last / "size");
    }
    std::int64_t sum = 0;
    for (const auto& [sharing, bytes] : sizes) sum += bytes;
    return sum;
}

std::int64_t bytes_beyond_caches(const std::vector<int>& pus, int ranks) {
    constexpr std::int64_t least = 256LL << 20, most = 1LL << 30;
    return std::clamp(2 * last_level_cache_bytes(pus), least, most) / ranks;
}

}  // namespace voltpile
