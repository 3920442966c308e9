#include "machine/gpu_sampler.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "machine/nvml.h"
#include "machine/pci_errors.h"

namespace voltpile {
namespace {

using Member = std::optional<double> GpuSnapshot::*;

// A little less than a second, so that every sample at 1 Hz reads all.
constexpr std::chrono::milliseconds kSlowPeriod{950};
// Processor time that costly readings may take: one part in so many.
constexpr int kCostlyShare = 700;

constexpr std::array<std::pair<Member, Member>, 4> kRates{{
    {&GpuSnapshot::pcie_sent_bytes, &GpuSnapshot::pcie_sent_bytes_per_s},
    {&GpuSnapshot::pcie_received_bytes, &GpuSnapshot::pcie_received_bytes_per_s},
    {&GpuSnapshot::nvlink_sent_bytes, &GpuSnapshot::nvlink_sent_bytes_per_s},
    {&GpuSnapshot::nvlink_received_bytes, &GpuSnapshot::nvlink_received_bytes_per_s},
}};

std::chrono::nanoseconds processor_time() {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

void read_aer(GpuSnapshot& gpu, const std::filesystem::path& sys) {
    const std::vector<PciErrors> ports = pci_errors(gpu.bus_id, sys);
    if (!ports.empty()) gpu.aer_correctable = gpu.aer_uncorrectable = 0;
    for (const PciErrors& port : ports) {
        *gpu.aer_correctable += port.correctable;
        *gpu.aer_uncorrectable += port.nonfatal + port.fatal;
    }
}

void compute_rates(const GpuSnapshot& before, double seconds, GpuSnapshot& gpu) {
    for (const auto& [counter, rate] : kRates) {
        const auto now = gpu.*counter, then = before.*counter;
        if (now && then && *now >= *then && seconds > 0) gpu.*rate = (*now - *then) / seconds;
    }
}

}  // namespace

GpuSampler::GpuSampler(const Nvml& nvml, std::filesystem::path sys) : nvml_(nvml), sys_(std::move(sys)) {}

void GpuSampler::read_all() {
    NodeGpus node = read_gpus(nvml_, GpuReading::Slow);
    devices_.clear();
    for (GpuSnapshot& gpu : node.gpus) {
        devices_.push_back(gpu.bus_id.empty() ? nullptr : find_gpu(nvml_, gpu.bus_id));
        if (const GpuSnapshot* before = gpu.bus_id.empty() ? nullptr : node_.find(gpu.bus_id))
            for (const GpuNumber& number : kGpuNumbers)
                if (number.pace == GpuPace::Costly) gpu.*number.member = before->*number.member;
    }
    node_ = std::move(node);
}

const NodeGpus& GpuSampler::sample() {
    const auto now = Clock::now();
    if (!slow_at_ || now - *slow_at_ >= kSlowPeriod) {
        read_all();
        slow_at_ = now;
    } else {
        for (std::size_t i = 0; i < node_.gpus.size(); ++i)
            if (devices_[i]) read_fast(nvml_, devices_[i], node_.gpus[i]);
    }
    for (GpuSnapshot& gpu : node_.gpus) gpu.energy_j.reset();
    if (now >= next_costly_ && !node_.gpus.empty()) read_next_costly(now);
    return node_;
}

void GpuSampler::read_next_costly(Clock::time_point now) {
    const auto begin = processor_time();
    const std::size_t index = turn_++ % node_.gpus.size();
    GpuSnapshot& gpu = node_.gpus[index];
    if (devices_[index]) {
        const GpuSnapshot before = gpu;  // as held
        read_costly(nvml_, devices_[index], gpu);
        read_aer(gpu, sys_);
        if (const auto last = costly_at_.find(gpu.bus_id); last != costly_at_.end())
            compute_rates(before, std::chrono::duration<double>(now - last->second).count(), gpu);
        costly_at_[gpu.bus_id] = now;
    }
    const auto pause = std::max<Clock::duration>(kCostlyShare * (processor_time() - begin),
                                                 kSlowPeriod / static_cast<int>(node_.gpus.size()));
    next_costly_ = now + pause;
}

}  // namespace voltpile
