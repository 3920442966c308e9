#include "machine/read_gpus.h"

#include <algorithm>
#include <array>
#include <utility>

#include "machine/nvml.h"

namespace voltpile {
namespace {

constexpr unsigned kMostLinks = 18;
constexpr int kGpuSensor = 0;
constexpr int kSinceRestart = 0, kEver = 1;
constexpr double kMilli = 1e-3;

using Number = std::optional<double>;

// Calls NVML's functions for one GPU and remembers the first answer that means trouble.
class GpuReader {
  public:
    GpuReader(const Nvml& nvml, NvmlDevice device) : nvml_(nvml), f_(nvml.functions()), device_(device) {}

    template <class... Parameters, class... Arguments>
    bool call(NvmlCall<Parameters...> function, Arguments... arguments) {
        if (!function) return false;
        const int status = function(device_, arguments...);
        constexpr std::array<int, 6> harmless{kNvmlSuccess,  kNvmlInvalidArgument, kNvmlNotSupported,
                                              kNvmlNotFound, kNvmlNoPermission,    kNvmlFunctionNotFound};
        if (problem_.empty() && std::ranges::find(harmless, status) == harmless.end())
            problem_ = nvml_.text(status);
        return status == kNvmlSuccess;
    }

    // Returns what a function writes through its last argument, times `scale`.
    template <class Value, class... Parameters, class... Arguments>
    Number number(NvmlCall<Parameters...> function, double scale, Arguments... arguments) {
        Value value{};
        if (!call(function, arguments..., &value)) return std::nullopt;
        return static_cast<double>(value) * scale;
    }
    template <class... Parameters, class... Arguments>
    Number whole(NvmlCall<Parameters...> function, Arguments... arguments) {
        return number<unsigned>(function, 1, arguments...);
    }
    template <class... Parameters, class... Arguments>
    Number milli(NvmlCall<Parameters...> function, Arguments... arguments) {
        return number<unsigned>(function, kMilli, arguments...);
    }
    template <class... Parameters, class... Arguments>
    Number wide(NvmlCall<Parameters...> function, Arguments... arguments) {
        return number<unsigned long long>(function, 1, arguments...);
    }

    const NvmlFunctions& functions() const { return f_; }
    const std::string& problem() const { return problem_; }

  private:
    const Nvml& nvml_;
    const NvmlFunctions& f_;
    NvmlDevice device_;
    std::string problem_;
};

void read_identity(GpuReader& reader, GpuSnapshot& gpu) {
    const NvmlFunctions& f = reader.functions();
    std::array<char, 96> text{};
    NvmlPci pci{};
    if (reader.call(f.pci, &pci)) gpu.bus_id = plain_bus_id(pci.bus_id);
    if (reader.call(f.name, text.data(), static_cast<unsigned>(text.size()))) gpu.name = text.data();
    if (reader.call(f.uuid, text.data(), static_cast<unsigned>(text.size()))) gpu.uuid = text.data();
}

// Reads numbers that have a field's number. Those that this GPU or driver lacks stay unknown.
class FieldReader {
  public:
    FieldReader& want(NvmlField field, double scale, Number& to) {
        NvmlFieldValue& asked = values_[count_];
        asked = {};
        asked.field = field;
        const bool of_links = field == kNvmlLinksSent || field == kNvmlLinksReceived;
        asked.scope = of_links ? kNvmlAllLinks : 0;
        targets_[count_++] = {scale, &to};
        return *this;
    }

    void read(GpuReader& reader) {
        if (!reader.call(reader.functions().field_values, static_cast<int>(count_), values_.data())) return;
        for (std::size_t i = 0; i < count_; ++i)
            if (values_[i].status == kNvmlSuccess && !wraps(values_[i]))
                *targets_[i].second = targets_[i].first * number(values_[i]);
    }

  private:
    // A counter of bytes with 32 bits starts again several times a second.
    static bool wraps(const NvmlFieldValue& value) {
        return value.type == kNvmlWhole &&
               (value.field == kNvmlPcieBytesSent || value.field == kNvmlPcieBytesReceived);
    }
    static double number(const NvmlFieldValue& value) {
        switch (value.type) {
            case kNvmlReal:
                return value.real;
            case kNvmlWhole:
                return value.whole;
            default:
                return static_cast<double>(value.wide);
        }
    }

    static constexpr std::size_t kMost = 8;
    std::array<NvmlFieldValue, kMost> values_;
    std::array<std::pair<double, Number*>, kMost> targets_;
    std::size_t count_ = 0;
};

void read_fast_numbers(GpuReader& reader, GpuSnapshot& gpu) {
    const NvmlFunctions& f = reader.functions();
    gpu.power_w = reader.milli(f.power);
    FieldReader().want(kNvmlPowerInstant, kMilli, gpu.power_instant_w).read(reader);
    gpu.sm_clock_mhz = reader.whole(f.clock, static_cast<int>(kNvmlSmClock));
    NvmlUtilization utilization{};
    if (reader.call(f.utilization, &utilization)) {
        gpu.utilization_percent = utilization.gpu;
        gpu.memory_utilization_percent = utilization.memory;
    }
    gpu.throttle_reasons = reader.wide(f.throttle_reasons);
}

void read_slow(GpuReader& reader, GpuSnapshot& gpu) {
    const NvmlFunctions& f = reader.functions();
    gpu.temperature_c = reader.whole(f.temperature, kGpuSensor);
    gpu.memory_clock_mhz = reader.whole(f.clock, static_cast<int>(kNvmlMemoryClock));
    NvmlMemory2 memory2{};
    memory2.version = kNvmlMemory2Version;
    NvmlMemory memory{};
    if (reader.call(f.memory2, &memory2)) {
        gpu.memory_used_bytes = static_cast<double>(memory2.used);
        gpu.memory_total_bytes = static_cast<double>(memory2.total);
    } else if (reader.call(f.memory, &memory)) {
        gpu.memory_used_bytes = static_cast<double>(memory.used);
        gpu.memory_total_bytes = static_cast<double>(memory.total);
    }
    FieldReader().want(kNvmlMemoryTemperature, 1, gpu.memory_temperature_c).read(reader);
}

void read_counters(GpuReader& reader, GpuSnapshot& gpu) {
    const NvmlFunctions& f = reader.functions();
    gpu.energy_j = reader.number<unsigned long long>(f.energy, kMilli);
    gpu.pcie_replays = reader.whole(f.pcie_replays);
    constexpr double kibi = 1024;
    FieldReader()
        .want(kNvmlPcieBytesSent, 1, gpu.pcie_sent_bytes)
        .want(kNvmlPcieBytesReceived, 1, gpu.pcie_received_bytes)
        .want(kNvmlLinksSent, kibi, gpu.nvlink_sent_bytes)
        .want(kNvmlLinksReceived, kibi, gpu.nvlink_received_bytes)
        .read(reader);
}

void read_limits(GpuReader& reader, GpuSnapshot& gpu) {
    const NvmlFunctions& f = reader.functions();
    gpu.power_limit_w = reader.milli(f.power_limit);
    gpu.power_limit_enforced_w = reader.milli(f.enforced_power_limit);
    gpu.power_limit_default_w = reader.milli(f.default_power_limit);
    unsigned least = 0, most = 0;
    if (reader.call(f.power_range, &least, &most)) {
        gpu.power_limit_min_w = least * kMilli;
        gpu.power_limit_max_w = most * kMilli;
    }
    constexpr int sm = kNvmlSmClock, graphics = kNvmlGraphicsClock, memory = kNvmlMemoryClock;
    gpu.sm_clock_max_mhz = reader.whole(f.max_clock, sm);
    gpu.memory_clock_max_mhz = reader.whole(f.max_clock, memory);
    gpu.application_clock_mhz = reader.whole(f.application_clock, graphics);
    gpu.application_clock_default_mhz = reader.whole(f.default_application_clock, graphics);
    gpu.application_memory_clock_mhz = reader.whole(f.application_clock, memory);
    gpu.temperature_slowdown_c =
        reader.whole(f.temperature_threshold, static_cast<int>(kNvmlSlowdownThreshold));
    gpu.temperature_shutdown_c =
        reader.whole(f.temperature_threshold, static_cast<int>(kNvmlShutdownThreshold));
    gpu.pcie_generation = reader.whole(f.pcie_generation);
    gpu.pcie_width = reader.whole(f.pcie_width);
    gpu.pcie_generation_max = reader.whole(f.max_pcie_generation);
    gpu.pcie_width_max = reader.whole(f.max_pcie_width);
}

// NVML counts the pages of a cause if the array for their addresses has no room.
Number count_of_retired_pages(const Nvml& nvml, NvmlDevice device) {
    const auto function = nvml.functions().retired_pages;
    if (!function) return std::nullopt;
    double sum = 0;
    for (int cause : {0, 1}) {
        unsigned count = 0;
        const int status = function(device, cause, &count, nullptr);
        if (status != kNvmlSuccess && status != kNvmlInsufficientSize) return std::nullopt;
        sum += count;
    }
    return sum;
}

void read_memory_errors(const Nvml& nvml, NvmlDevice device, GpuReader& reader, GpuSnapshot& gpu) {
    const NvmlFunctions& f = nvml.functions();
    int ecc_now = 0, ecc_later = 0;
    if (reader.call(f.ecc_mode, &ecc_now, &ecc_later)) gpu.ecc_on = ecc_now;
    constexpr int corrected = kNvmlCorrected, uncorrected = kNvmlUncorrected;
    gpu.ecc_corrected = reader.wide(f.ecc_errors, corrected, kSinceRestart);
    gpu.ecc_uncorrected = reader.wide(f.ecc_errors, uncorrected, kSinceRestart);
    gpu.ecc_uncorrected_ever = reader.wide(f.ecc_errors, uncorrected, kEver);
    gpu.retired_pages = count_of_retired_pages(nvml, device);
    gpu.retirement_pending = reader.number<int>(f.retirement_pending, 1);
    unsigned after_corrected = 0, after_uncorrected = 0, pending = 0, failed = 0;
    if (reader.call(f.remapped_rows, &after_corrected, &after_uncorrected, &pending, &failed)) {
        gpu.remapped_rows = after_corrected + after_uncorrected;
        gpu.remapping_failed = failed;
    }
}

void read_links(GpuReader& reader, GpuSnapshot& gpu) {
    const NvmlFunctions& f = reader.functions();
    for (unsigned number = 0; number < kMostLinks; ++number) {
        int up = 0, remote = kNvmlLinkToGpu;  // the answer of older drivers, which cannot tell
        if (!reader.call(f.link_state, number, &up)) continue;
        NvLink link;
        link.number = static_cast<int>(number);
        link.up = up != 0;
        unsigned version = 0;
        if (reader.call(f.link_version, number, &version)) link.version = static_cast<int>(version);
        reader.call(f.link_remote_type, number, &remote);
        link.to_switch = remote == kNvmlLinkToSwitch;
        NvmlPci pci{};
        if (remote == kNvmlLinkToGpu && reader.call(f.link_remote_pci, number, &pci))
            link.remote_bus_id = plain_bus_id(pci.bus_id);
        link.replays = reader.wide(f.link_errors, number, 0);
        link.recoveries = reader.wide(f.link_errors, number, 1);
        const Number flits = reader.wide(f.link_errors, number, 2),
                     data = reader.wide(f.link_errors, number, 3);
        if (flits && data) link.crc_errors = *flits + *data;
        gpu.links.push_back(link);
    }
}

GpuSnapshot read_gpu(const Nvml& nvml, NvmlDevice device, GpuReading what) {
    GpuSnapshot gpu;
    GpuReader reader(nvml, device);
    read_identity(reader, gpu);
    read_fast_numbers(reader, gpu);
    read_slow(reader, gpu);
    if (what == GpuReading::Everything) {
        read_counters(reader, gpu);
        read_limits(reader, gpu);
        read_memory_errors(nvml, device, reader, gpu);
        read_links(reader, gpu);
    }
    gpu.problem = reader.problem();
    return gpu;
}

}  // namespace

NodeGpus read_gpus(const Nvml& nvml, GpuReading what) {
    const NvmlFunctions& f = nvml.functions();
    NodeGpus node;
    std::array<char, 96> driver{};
    if (f.driver_version && f.driver_version(driver.data(), static_cast<unsigned>(driver.size())) == 0)
        node.driver_version = driver.data();
    if (f.cuda_version) f.cuda_version(&node.cuda_version);
    unsigned count = 0;
    if (const int status = f.device_count(&count); status != kNvmlSuccess)
        node.problem = "the NVIDIA driver does not list its GPUs: " + nvml.text(status);
    for (unsigned index = 0; index < count; ++index) {
        NvmlDevice device = nullptr;
        const int status = f.device_by_index(index, &device);
        if (status == kNvmlNoPermission) continue;  // another user's: a batch system hides it
        if (status == kNvmlSuccess) {
            node.gpus.push_back(read_gpu(nvml, device, what));
        } else {
            GpuSnapshot lost;
            lost.problem = nvml.text(status);
            node.gpus.push_back(lost);
        }
    }
    return node;
}

NvmlDevice find_gpu(const Nvml& nvml, const std::string& bus_id) {
    const NvmlFunctions& f = nvml.functions();
    NvmlDevice device = nullptr;
    return f.device_by_bus_id && f.device_by_bus_id(bus_id.c_str(), &device) == kNvmlSuccess ? device
                                                                                             : nullptr;
}

void read_fast(const Nvml& nvml, NvmlDevice device, GpuSnapshot& gpu) {
    for (const GpuNumber& number : kGpuNumbers)
        if (number.pace == GpuPace::Fast) (gpu.*number.member).reset();
    GpuReader reader(nvml, device);
    read_fast_numbers(reader, gpu);
    gpu.problem = reader.problem();
}

void read_costly(const Nvml& nvml, NvmlDevice device, GpuSnapshot& gpu) {
    const NvmlFunctions& f = nvml.functions();
    GpuReader reader(nvml, device);
    read_counters(reader, gpu);
    if (gpu.pcie_sent_bytes) return;
    constexpr double kilo = 1e3;
    gpu.pcie_sent_bytes_per_s =
        reader.number<unsigned>(f.pcie_throughput, kilo, static_cast<int>(kNvmlPcieSent));
    gpu.pcie_received_bytes_per_s =
        reader.number<unsigned>(f.pcie_throughput, kilo, static_cast<int>(kNvmlPcieReceived));
}

}  // namespace voltpile
