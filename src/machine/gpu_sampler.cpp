#include "machine/gpu_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "machine/nvml.h"
#include "machine/pci_errors.h"
#include "machine/read_gpus.h"

namespace voltpile {
namespace {

using Member = std::optional<double> GpuSnapshot::*;

// A little less than a second, so that every sample at 1 Hz reads all.
constexpr std::chrono::milliseconds kSlowPeriod{950};

constexpr std::array<std::pair<Member, Member>, 4> kRates{{
    {&GpuSnapshot::pcie_sent_bytes, &GpuSnapshot::pcie_sent_bytes_per_s},
    {&GpuSnapshot::pcie_received_bytes, &GpuSnapshot::pcie_received_bytes_per_s},
    {&GpuSnapshot::nvlink_sent_bytes, &GpuSnapshot::nvlink_sent_bytes_per_s},
    {&GpuSnapshot::nvlink_received_bytes, &GpuSnapshot::nvlink_received_bytes_per_s},
}};

void hold(const GpuSnapshot& before, GpuSnapshot& gpu) {
    for (const GpuNumber& number : kGpuNumbers)
        if (number.pace == GpuPace::Slow) gpu.*number.member = before.*number.member;
    gpu.memory_total_bytes = before.memory_total_bytes;
}

}  // namespace

GpuSampler::GpuSampler(const Nvml& nvml, std::chrono::milliseconds every, std::filesystem::path sys)
    : nvml_(nvml), sys_(std::move(sys)), every_s_(std::chrono::duration<double>(every).count()) {}

NodeGpus GpuSampler::sample() {
    const auto now = Clock::now();
    const bool slow = !slow_at_ || now - *slow_at_ >= kSlowPeriod;
    NodeGpus node = read_gpus(nvml_, slow ? GpuReading::Changing : GpuReading::Fast);
    if (slow) {
        add_slow(node, slow_at_ ? std::chrono::duration<double>(now - *slow_at_).count() : 0);
        slow_at_ = now;
    } else {
        for (GpuSnapshot& gpu : node.gpus)
            if (const GpuSnapshot* before = before_.find(gpu.bus_id)) hold(*before, gpu);
    }
    measure_pcie_of_some(node);
    before_ = node;
    return node;
}

void GpuSampler::add_slow(NodeGpus& node, double seconds) {
    for (GpuSnapshot& gpu : node.gpus) {
        const std::vector<PciErrors> ports = pci_errors(gpu.bus_id, sys_);
        if (!ports.empty()) gpu.aer_correctable = gpu.aer_uncorrectable = 0;
        for (const PciErrors& port : ports) {
            *gpu.aer_correctable += port.correctable;
            *gpu.aer_uncorrectable += port.nonfatal + port.fatal;
        }
        const GpuSnapshot* before = before_.find(gpu.bus_id);
        if (!before || seconds <= 0) continue;
        for (const auto& [counter, rate] : kRates) {
            const auto now = gpu.*counter, then = before->*counter;
            if (now && then && *now >= *then) gpu.*rate = (*now - *then) / seconds;
            if (!now) gpu.*rate = before->*rate;  // measured instead
        }
    }
}

// So many at a time that each is measured about once a second.
void GpuSampler::measure_pcie_of_some(NodeGpus& node) {
    const std::size_t gpus = node.gpus.size();
    const auto some = static_cast<std::size_t>(std::ceil(static_cast<double>(gpus) * every_s_));
    for (std::size_t i = 0; i < std::min(some, gpus); ++i) {
        GpuSnapshot& gpu = node.gpus[next_++ % gpus];
        if (!gpu.bus_id.empty() && !gpu.pcie_sent_bytes) measure_pcie(nvml_, gpu);
    }
}

}  // namespace voltpile
