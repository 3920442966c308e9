#include "machine/gpu_snapshot.h"

#include <algorithm>
#include <cctype>

namespace voltpile {

const GpuSnapshot* NodeGpus::find(std::string_view bus_id) const {
    const auto found = std::ranges::find(gpus, bus_id, &GpuSnapshot::bus_id);
    return found == gpus.end() ? nullptr : &*found;
}

std::optional<double> NodeGpus::power_w() const {
    if (gpus.empty()) return std::nullopt;
    double sum = 0;
    for (const GpuSnapshot& gpu : gpus) {
        const std::optional<double> now = gpu.power_instant_w ? gpu.power_instant_w : gpu.power_w;
        if (!now) return std::nullopt;
        sum += *now;
    }
    return sum;
}

std::string plain_bus_id(std::string bus_id) {
    constexpr std::size_t length = 12;  // "0000:1b:00.0"
    if (bus_id.size() > length) bus_id.erase(0, bus_id.size() - length);
    std::ranges::transform(bus_id, bus_id.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return bus_id;
}

bool is_bus_id(std::string_view name) {
    constexpr std::string_view shape = "hhhh:hh:hh.h";
    if (name.size() != shape.size()) return false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const bool digit = std::isxdigit(static_cast<unsigned char>(name[i])) != 0;
        if (shape[i] == 'h' ? !digit : name[i] != shape[i]) return false;
    }
    return true;
}

std::vector<std::string> throttle_names(std::uint64_t bits) {
    std::vector<std::string> names;
    for (const ThrottleReason& reason : kThrottleReasons)
        if (bits & reason.bit) names.emplace_back(reason.name);
    return names;
}

}  // namespace voltpile
