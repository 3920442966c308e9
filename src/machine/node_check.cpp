#include "machine/node_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "base/format.h"
#include "base/kernel_files.h"
#include "machine/pci_errors.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;
using Findings = std::vector<NodeFinding>;
using Number = std::optional<double>;

// Some correctable errors are normal; a bad contact makes thousands.
constexpr double kManyPcieErrors = 1000;
// Above the other GPUs of a node.
constexpr double kHotterBy_c = 15;
constexpr double kNearSlowdown_c = 3;
// NVIDIA replaces a board with this many retired pages.
constexpr double kRetiredPagesOfABadBoard = 60;

class NodeCheck {
  public:
    NodeCheck(const NodeGpus& node, const fs::path& sys) : node_(node), sys_(sys) {}

    Findings all() {
        check_driver();
        for (std::size_t i = 0; i < node_.gpus.size(); ++i) {
            const GpuSnapshot& gpu = node_.gpus[i];
            name_ = gpu.bus_id.empty() ? fmt::format("GPU {}", i) : fmt::format("GPU {} ({})", i, gpu.bus_id);
            if (!gpu.problem.empty()) {
                add(Health::Bad, gpu.problem,
                    "if it fell off the bus (Xid 79), check power supply and seat, then restart the node");
                continue;
            }
            check_memory(gpu);
            check_pcie(gpu);
            check_links(gpu);
            check_heat(gpu);
            check_settings(gpu);
        }
        check_host();
        return std::move(findings_);
    }

  private:
    void add(Health health, const std::string& text, std::string advice) {
        findings_.push_back({health, name_.empty() ? text : name_ + ": " + text, std::move(advice)});
    }

    static std::string driver_advice(const std::string& problem) {
        if (problem.find("voltpile-probe") != problem.npos)
            return "install Voltpile again: the program voltpile-probe belongs beside voltpile";
        if (problem.find("Permission") != problem.npos)
            return "let this user open /dev/nvidia*: see their group, and the job's devices under Slurm";
        if (problem.find("mismatch") != problem.npos)
            return "the driver was updated while loaded: restart the node";
        return "install the driver, or load it: modprobe nvidia";
    }

    void check_driver() {
        const std::vector<std::string> seen = nvidia_gpus(sys_);
        if (node_.hung)
            return add(Health::Bad, node_.problem, "restart the node; dmesg shows which GPU (Xid)");
        if (!node_.problem.empty() && !seen.empty())
            return add(Health::Bad,
                       fmt::format("{}, but the node has {} NVIDIA GPUs", node_.problem, seen.size()),
                       driver_advice(node_.problem));
        const bool some_unknown =
            std::ranges::any_of(node_.gpus, [](const GpuSnapshot& gpu) { return gpu.bus_id.empty(); });
        for (const std::string& bus_id : seen)
            if (node_.problem.empty() && !some_unknown && !node_.find(bus_id))
                add(Health::Bad, fmt::format("the driver does not list the GPU at {}", bus_id),
                    "it may have fallen off the bus (Xid 79): check power supply and seat, then restart the "
                    "node");
    }

    void check_memory(const GpuSnapshot& gpu) {
        if (gpu.ecc_uncorrected.value_or(0) > 0)
            add(Health::Bad,
                fmt::format("{} uncorrectable memory errors since the driver was loaded",
                            *gpu.ecc_uncorrected),
                "restart the node, which retires the page; replace the GPU if they return");
        if (gpu.retirement_pending.value_or(0) > 0)
            add(Health::Degraded, "a memory page waits to be retired", "restart the node or reset the GPU");
        if (gpu.retired_pages.value_or(0) >= kRetiredPagesOfABadBoard)
            add(Health::Bad, fmt::format("{} retired memory pages", *gpu.retired_pages), "replace the GPU");
        if (gpu.remapping_failed.value_or(0) > 0)
            add(Health::Bad, "a bad memory row could not be replaced", "replace the GPU");
    }

    void check_pcie(const GpuSnapshot& gpu) {
        if (gpu.pcie_width && gpu.pcie_width_max && *gpu.pcie_width < *gpu.pcie_width_max)
            add(Health::Degraded, fmt::format("PCIe x{} of x{}", *gpu.pcie_width, *gpu.pcie_width_max),
                "reseat the GPU or its riser, and clean the contacts");
        if (const Number best = most(gpu, &GpuSnapshot::pcie_generation_max);
            gpu.pcie_generation_max && best && *gpu.pcie_generation_max < *best)
            add(Health::Degraded,
                fmt::format("PCIe {}.0, its neighbors {}.0", *gpu.pcie_generation_max, *best),
                "check the slot's settings in the BIOS and its riser");
        if (gpu.pcie_replays.value_or(0) > kManyPcieErrors)
            add(Health::Degraded, fmt::format("{:.0f} PCIe replays", *gpu.pcie_replays),
                "reseat the GPU or its riser, and clean the contacts");
        for (const PciErrors& port : pci_errors(gpu.bus_id, sys_)) {
            const std::string where =
                port.bus_id == gpu.bus_id ? "" : fmt::format(" at the port {} above it", port.bus_id);
            if (port.fatal + port.nonfatal > 0)
                add(Health::Bad,
                    fmt::format("{:.0f} uncorrectable PCIe errors{}", port.fatal + port.nonfatal, where),
                    "reseat the GPU or its riser, and clean the contacts");
            else if (port.correctable > kManyPcieErrors)
                add(Health::Degraded,
                    fmt::format("{:.0f} correctable PCIe errors{}", port.correctable, where),
                    "reseat the GPU or its riser: they rise long before a link fails");
        }
    }

    void check_links(const GpuSnapshot& gpu) {
        const auto up = [](const GpuSnapshot& of) {
            return static_cast<double>(std::ranges::count(of.links, true, &NvLink::up));
        };
        double most_up = 0;
        for (const GpuSnapshot& other : node_.gpus)
            if (other.name == gpu.name) most_up = std::max(most_up, up(other));
        double replays = 0, crc = 0;
        for (const NvLink& link : gpu.links) {
            replays += link.replays.value_or(0) + link.recoveries.value_or(0);
            crc += link.crc_errors.value_or(0);
        }
        if (up(gpu) < most_up)
            add(Health::Degraded,
                fmt::format("{} of {} NVLinks are up, {:.0f} replays", up(gpu), most_up, replays),
                "reseat the module and tighten its screws evenly");
        else if (replays > 0)
            add(Health::Degraded, fmt::format("{:.0f} NVLink replays, {:.0f} CRC errors", replays, crc),
                "reseat the module and tighten its screws evenly");
    }

    void check_heat(const GpuSnapshot& gpu) {
        if (!gpu.temperature_c) return;
        if (gpu.temperature_slowdown_c && *gpu.temperature_c >= *gpu.temperature_slowdown_c - kNearSlowdown_c)
            add(Health::Degraded,
                fmt::format("{} °C; it slows down at {}", *gpu.temperature_c, *gpu.temperature_slowdown_c),
                "check fans and heat sink");
        const Number usual = median_of_others(gpu, &GpuSnapshot::temperature_c);
        if (usual && *gpu.temperature_c > *usual + kHotterBy_c)
            add(Health::Degraded, fmt::format("{} °C, its neighbors {}", *gpu.temperature_c, *usual),
                "check its heat sink: screws, paste, dust");
        constexpr std::uint64_t slowed = 0x8 | 0x20 | 0x40 | 0x80;
        if (const auto reasons =
                throttle_names(static_cast<std::uint64_t>(gpu.throttle_reasons.value_or(0)) & slowed);
            !reasons.empty())
            add(Health::Degraded, fmt::format("slowed down: {}", fmt::join(reasons, ", ")),
                "check power supply and cooling");
    }

    // Settings are lost when a driver is reloaded or a GPU is reset.
    void check_settings(const GpuSnapshot& gpu) {
        const auto differs = [&](Number GpuSnapshot::*member) {
            const Number usual = median_of_others(gpu, member);
            return usual && gpu.*member && gpu.*member != *usual && majority_has(gpu, member, *usual);
        };
        if (differs(&GpuSnapshot::application_clock_mhz))
            add(Health::Degraded,
                fmt::format("application clock {} MHz, its neighbors {}", *gpu.application_clock_mhz,
                            *median_of_others(gpu, &GpuSnapshot::application_clock_mhz)),
                "set it again: nvidia-smi -ac MEMORY,SM");
        if (differs(&GpuSnapshot::power_limit_w))
            add(Health::Degraded,
                fmt::format("power limit {} W, its neighbors {}", *gpu.power_limit_w,
                            *median_of_others(gpu, &GpuSnapshot::power_limit_w)),
                "set it again: nvidia-smi -pl WATTS");
    }

    void check_host() {
        name_.clear();
        const bool has_rdma = !sorted_entries(sys_ / "class/infiniband").empty();
        rlimit limit{};
        if (has_rdma && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
            add(Health::Degraded,
                fmt::format("at most {} may be locked in memory",
                            bytes_text(static_cast<double>(limit.rlim_cur))),
                "RDMA needs more: \"* - memlock unlimited\" in /etc/security/limits.conf");
        std::error_code error;
        if (has_rdma && !node_.gpus.empty() && !fs::exists(sys_ / "module/nvidia_peermem", error) &&
            !fs::exists(sys_ / "module/nv_peer_mem", error))
            add(Health::Degraded, "nvidia-peermem is not loaded: network adapters cannot read GPU memory",
                "modprobe nvidia-peermem");
    }

    // Values of the other GPUs of the same model.
    std::vector<double> others(const GpuSnapshot& gpu, Number GpuSnapshot::*member) const {
        std::vector<double> values;
        for (const GpuSnapshot& other : node_.gpus)
            if (&other != &gpu && other.name == gpu.name && other.*member) values.push_back(*(other.*member));
        return values;
    }
    Number most(const GpuSnapshot& gpu, Number GpuSnapshot::*member) const {
        const auto values = others(gpu, member);
        return values.empty() ? Number() : *std::ranges::max_element(values);
    }
    Number median_of_others(const GpuSnapshot& gpu, Number GpuSnapshot::*member) const {
        auto values = others(gpu, member);
        if (values.empty()) return std::nullopt;
        std::ranges::sort(values);
        return values[values.size() / 2];
    }
    // Of two GPUs nobody knows which one is right.
    bool majority_has(const GpuSnapshot& gpu, Number GpuSnapshot::*member, double value) const {
        const auto values = others(gpu, member);
        return values.size() >= 2 &&
               2 * std::ranges::count(values, value) > static_cast<std::ptrdiff_t>(values.size());
    }

    const NodeGpus& node_;
    fs::path sys_;
    std::string name_;  // of what is being checked
    Findings findings_;
};

}  // namespace

std::vector<NodeFinding> check_node(const NodeGpus& node, const fs::path& sys) {
    return NodeCheck(node, sys).all();
}

Health verdict(const std::vector<NodeFinding>& findings) {
    Health worst = Health::Ok;
    for (const NodeFinding& finding : findings) worst = std::max(worst, finding.health);
    return worst;
}

const char* name_of(Health health) {
    return health == Health::Ok ? "ok" : health == Health::Degraded ? "degraded" : "bad";
}

}  // namespace voltpile
