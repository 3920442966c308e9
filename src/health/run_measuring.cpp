#include "health/run_measuring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/bind_thread.h"
#include "base/error.h"
#include "device/device.h"
#include "health/figure_json.h"
#include "health/measure_node.h"
#include "health/tensor_theory.h"
#include "machine/probe.h"
#include "measure/copy_rates.h"
#include "measure/gpu_rates.h"
#include "measure/host_rates.h"
#include "run/discover_topology.h"

namespace voltpile {
namespace {

constexpr std::int64_t host_bytes = std::int64_t{2} << 30;  // more than the caches of all cores
constexpr std::int64_t gpu_bytes = std::int64_t{1} << 30;
constexpr std::size_t copied_bytes = std::size_t{64} << 20;
constexpr double seconds_each = 0.1;
constexpr double flop_per_fma = 2;
// A GPU with more than this belongs to another program.
constexpr double busy_percent = 10, busy_bytes = 2e9;

struct MeasuredGpu {
    int device = 0;     // as CUDA numbers it
    int number = 0;     // as the driver numbers it
    std::string place;  // "GPU 2 (0000:3a:00.0)"
    Gpu facts;
    std::size_t in_host = 0;  // its index in Host::gpus
};

void put_line(const std::string& line) {
    if (std::fputs(line.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
        throw FileError("write", "stdout", errno);
}

std::string use_of(const GpuSnapshot& gpu) {
    if (gpu.utilization_percent.value_or(0) >= busy_percent)
        return fmt::format("{:.0f} % busy", *gpu.utilization_percent);
    if (gpu.memory_used_bytes.value_or(0) > busy_bytes)
        return fmt::format("{:.1f} GB of its memory taken", *gpu.memory_used_bytes * 1e-9);
    return "";
}

// Application clocks below the default hold the clock down; the default itself lets it boost.
double highest_clock_ghz(const Gpu& gpu, const GpuSnapshot& said) {
    if (said.application_clock_mhz && said.application_clock_default_mhz &&
        *said.application_clock_mhz != *said.application_clock_default_mhz)
        return std::min(gpu.clock_ghz, *said.application_clock_mhz * 1e-3);
    return gpu.clock_ghz;
}

class NodeMeasuring {
  public:
    void measure() {
        put_line(begin_line("reading the node's GPUs"));
        node_ = probe_gpus();
        host_ = read_this_host();
        measure_host();
        list_gpus();
        std::erase_if(gpus_, [&](const MeasuredGpu& gpu) { return !measure_gpu(gpu); });
        for (const MeasuredGpu& from : gpus_)
            for (const MeasuredGpu& to : gpus_)
                if (from.device != to.device) measure_pair(from, to);
    }

  private:
    static void add(FigureKind kind, const std::string& place, const std::string& model, double value,
                    double theory) {
        put_line(figure_line(figure_of(kind, place, model, value, theory)));
    }

    // Runs `work`. Returns false, and reports why, if a GPU fails.
    template <class Work>
    static bool attempt(const std::string& place, const std::string& what, const Work& work) {
        put_line(begin_line(fmt::format("{}: {}", place, what)));
        try {
            work();
            return true;
        } catch (const DeviceError& error) {
            put_line(failure_line(fmt::format("{}: {} failed: {}", place, what, error.what())));
            return false;
        }
    }

    void measure_host() {
        std::map<int, std::vector<int>> pus;  // by NUMA node
        for (const Core& core : host_.cores) pus[core.numa_node].push_back(core.pu);
        const std::int64_t bytes = std::min(host_bytes, host_.memory_bytes / 8) /
                                   static_cast<std::int64_t>(std::max<std::size_t>(pus.size(), 1));
        for (const auto& [node, on_node] : pus) {
            const std::string place = fmt::format("{}{} ({} core{})", kHostPlace, node, on_node.size(),
                                                  on_node.size() == 1 ? "" : "s");
            put_line(begin_line(place + ": its memory"));
            add(FigureKind::HostRead, place, fmt::format("{}, {} cores", host_.cpu_name, on_node.size()),
                host_read_rate(bytes, on_node),
                host_.memory_gb_per_s * 1e9 / static_cast<double>(pus.size()));
        }
    }

    void list_gpus() {
        put_line(begin_line("GPUs: asking CUDA"));
        if (device_count() == 0 && !node_.gpus.empty())
            put_line(skipped_line("GPUs: CUDA shows none to this program, or it was built without CUDA"));
        for (int device = 0; device < device_count(); ++device) {
            const std::string bus_id = plain_bus_id(device_info(device).pci_bus_id);
            const auto said = std::ranges::find(node_.gpus, bus_id, &GpuSnapshot::bus_id);
            const auto in_host = std::ranges::find_if(
                host_.gpus, [&](const Gpu& gpu) { return plain_bus_id(gpu.place.bus_id) == bus_id; });
            if (said == node_.gpus.end() || in_host == host_.gpus.end()) {
                put_line(skipped_line(fmt::format("GPU at {}: the driver says nothing about it", bus_id)));
                continue;
            }
            MeasuredGpu gpu{device, static_cast<int>(said - node_.gpus.begin()), "", *in_host,
                            static_cast<std::size_t>(in_host - host_.gpus.begin())};
            gpu.place = fmt::format("GPU {} ({})", gpu.number, bus_id);
            gpu.facts.clock_ghz = highest_clock_ghz(*in_host, *said);
            if (const std::string use = use_of(*said); !use.empty())
                put_line(skipped_line(fmt::format("{}: in use ({})", gpu.place, use)));
            else
                gpus_.push_back(gpu);
        }
    }

    // Copies then start from host memory near the GPU.
    void bind_near(const MeasuredGpu& gpu) const {
        std::vector<int> near;
        for (const Core& core : host_.cores)
            if (core.numa_node == gpu.facts.place.numa_node) near.push_back(core.pu);
        bind_this_thread(near.empty() ? std::vector{-1} : near);
    }

    bool measure_gpu(const MeasuredGpu& gpu) const {
        const std::string &place = gpu.place, &model = gpu.facts.name;
        const double clocks = gpu.facts.multiprocessors * gpu.facts.clock_ghz * 1e9 * flop_per_fma;
        bind_near(gpu);
        return attempt(place, "its memory",
                       [&] {
                           use_device(gpu.device);
                           const Stream stream;
                           const double theory = gpu.facts.memory_gb_per_s * 1e9;
                           add(FigureKind::GpuRead, place, model,
                               gpu_read_rate(gpu.device, gpu_bytes, stream), theory);
                           add(FigureKind::GpuCopy, place, model,
                               gpu_copy_rate(gpu.device, gpu_bytes, stream), theory);
                       }) &&
               attempt(place, "FP64",
                       [&] {
                           const Stream stream;
                           add(FigureKind::Fp64, place, model,
                               flop_per_fma * gpu_fp64_rate(gpu.device, seconds_each, stream),
                               gpu.facts.fp64_per_clock * clocks);
                       }) &&
               (gpu.facts.compute_capability < 70 ||
                attempt(place, "its tensor cores", [&] { measure_tensor_cores(gpu); })) &&
               attempt(place, "copies between it and the host", [&] {
                   const HostCopyRates rates = host_copy_rates(gpu.device, copied_bytes);
                   const double theory = gpu.facts.pcie_gb_per_s * 1e9;
                   add(FigureKind::ToGpu, place, model, rates.to_gpu, theory);
                   add(FigureKind::FromGpu, place, model, rates.from_gpu, theory);
               });
    }

    static void measure_tensor_cores(const MeasuredGpu& gpu) {
        const Stream stream;
        const TensorTheory theory = tensor_theory(gpu.facts);
        put_line(figure_line({FigureKind::Tensor, gpu.place, gpu.facts.name,
                              flop_per_fma * gpu_tensor_rate(gpu.device, seconds_each, stream),
                              theory.flop_per_s, theory.least_share * theory.flop_per_s}));
    }

    void measure_pair(const MeasuredGpu& from, const MeasuredGpu& to) const {
        const std::string place = fmt::format("GPU {} to GPU {}", from.number, to.number);
        attempt(place, "copies between them", [&] {
            const auto rate = peer_copy_rate(from.device, to.device, copied_bytes);
            if (!rate)
                return put_line(
                    skipped_line(place + ": they reach each other only through the host's memory"));
            const double nvlink = host_.nvlink_gb_per_s[from.in_host][to.in_host];
            const std::string link = nvlink > 0 ? "NVLink" : "PCIe";
            add(FigureKind::GpuToGpu, place, fmt::format("{}, {}", from.facts.name, link), *rate,
                1e9 * (nvlink > 0 ? nvlink : std::min(from.facts.pcie_gb_per_s, to.facts.pcie_gb_per_s)));
        });
    }

    NodeGpus node_;
    Host host_;
    std::vector<MeasuredGpu> gpus_;
};

}  // namespace

void run_measuring() {
    NodeMeasuring().measure();
}

}  // namespace voltpile
