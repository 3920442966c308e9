#include "cluster/supervisor/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <optional>

#include "cluster/supervisor/power_ramp.h"

namespace voltpile {
namespace {

using Found = std::optional<std::string>;

constexpr double kRampIsNear_s = 30;  // a ramp this long before a failure may have caused it
constexpr double kMuchHotter_c = 15;  // than the other GPUs of the node
constexpr double kNearShutdown_c = 3;
constexpr double kManyPcieErrors = 10;  // between the first and the last sample
constexpr std::array kNumbers{"no", "one", "two", "three", "four", "five", "six", "seven", "eight"};

std::string number_text(int number) {
    return number < static_cast<int>(kNumbers.size()) ? kNumbers[static_cast<std::size_t>(number)]
                                                      : std::to_string(number);
}

// One node of an attempt, with what several rules ask about it.
struct NodeView {
    const AttemptEvidence& attempt;
    const NodeEvidence& node;

    const NodeSample* last() const {
        for (auto at = node.samples.rbegin(); at != node.samples.rend(); ++at)
            if (!at->gpus.gpus.empty()) return &*at;
        return nullptr;
    }

    // "GPU 1", in the driver's order before anything failed.
    std::string gpu_name(const std::string& bus_id) const {
        for (const NodeSample& sample : node.samples)
            for (std::size_t i = 0; i < sample.gpus.gpus.size(); ++i)
                if (sample.gpus.gpus[i].bus_id == bus_id) return fmt::format("GPU {}", i);
        return "GPU at " + bus_id;
    }

    // The first Xid of these numbers.
    struct Xid {
        KernelEvent event;
        XidEvent xid;
    };
    template <std::size_t N>
    std::optional<Xid> first_xid(const std::array<int, N>& numbers) const {
        for (const KernelEvent& event : node.kernel)
            if (const auto xid = xid_of(event);
                xid && std::ranges::find(numbers, xid->number) != numbers.end())
                return Xid{event, *xid};
        return std::nullopt;
    }

    int gpus_off_the_bus() const {
        std::vector<std::string> gone;
        for (const KernelEvent& event : node.kernel)
            if (const auto xid = xid_of(event); xid && xid->number == 79)
                if (std::ranges::find(gone, xid->bus_id) == gone.end()) gone.push_back(xid->bus_id);
        return static_cast<int>(gone.size());
    }

    // PCIe errors before a moment: lines of the kernel, or how far the GPU's counters rose.
    int pcie_errors(const std::string& bus_id, double until_s) const {
        const auto lines = std::ranges::count_if(node.kernel, [&](const KernelEvent& event) {
            return event.time_s <= until_s && (event.text.find("AER: ") != std::string::npos ||
                                               event.text.find("PCIe Bus Error") != std::string::npos);
        });
        std::optional<double> first, latest;
        for (const NodeSample& sample : node.samples)
            if (const GpuSnapshot* gpu = sample.gpus.find(bus_id); gpu && gpu->aer_correctable) {
                if (!first) first = gpu->aer_correctable;
                latest = gpu->aer_correctable;
            }
        const double rise = first && latest ? *latest - *first : 0;
        return static_cast<int>(lines) + (rise >= kManyPcieErrors ? static_cast<int>(rise) : 0);
    }

    // "92 °C, its neighbors 61", if the GPU was too hot in the last sample that has it.
    Found heat(const std::string& bus_id) const {
        for (auto sample = node.samples.rbegin(); sample != node.samples.rend(); ++sample) {
            const GpuSnapshot* gpu = sample->gpus.find(bus_id);
            if (!gpu || !gpu->temperature_c) continue;
            std::vector<double> others;
            for (const GpuSnapshot& other : sample->gpus.gpus)
                if (other.bus_id != bus_id && other.temperature_c) others.push_back(*other.temperature_c);
            std::ranges::sort(others);
            if (!others.empty() && *gpu->temperature_c > others[others.size() / 2] + kMuchHotter_c)
                return fmt::format("{:.0f} °C, its neighbors {:.0f}", *gpu->temperature_c,
                                   others[others.size() / 2]);
            if (gpu->temperature_slowdown_c &&
                *gpu->temperature_c >= *gpu->temperature_slowdown_c - kNearShutdown_c)
                return fmt::format("{:.0f} °C; it slows down at {:.0f}", *gpu->temperature_c,
                                   *gpu->temperature_slowdown_c);
            return std::nullopt;
        }
        return std::nullopt;
    }

    // "3.2 s after all four GPUs ramped up", if they did shortly before.
    Found ramp_before(double time_s) const {
        const auto ramp = last_ramp(node.samples, time_s);
        if (!ramp || time_s - ramp->time_s > kRampIsNear_s || !last()) return std::nullopt;
        const bool all = ramp->gpus >= static_cast<int>(last()->gpus.gpus.size());
        return fmt::format("{:.1f} s after {}{} GPUs ramped up", time_s - ramp->time_s, all ? "all " : "",
                           number_text(ramp->gpus));
    }

    // The GPU whose last samples were slowed by the external power brake or a fast over-power trigger.
    Found braked_gpu() const {
        constexpr std::uint64_t power = 0x8 | 0x80;
        if (const NodeSample* sample = last())
            for (const GpuSnapshot& gpu : sample->gpus.gpus)
                if ((static_cast<std::uint64_t>(gpu.throttle_reasons.value_or(0)) & power) != 0)
                    return gpu_name(gpu.bus_id);
        return std::nullopt;
    }
};

Found several_gpus_off_the_bus(const NodeView& view) {
    const int gone = view.gpus_off_the_bus();
    const auto first = view.first_xid(std::array{79});
    if (gone < 2) return std::nullopt;
    const Found ramp = view.ramp_before(first->event.time_s);
    return fmt::format("{} of its GPUs fell off the bus (Xid 79){}; suspect power", number_text(gone),
                       ramp ? " " + *ramp : "");
}

Found gpu_off_the_bus(const NodeView& view) {
    const auto xid = view.first_xid(std::array{79});
    if (!xid) return std::nullopt;
    const std::string what = fmt::format("{} fell off the bus (Xid 79)", view.gpu_name(xid->xid.bus_id));
    const int errors = view.pcie_errors(xid->xid.bus_id, xid->event.time_s);
    const Found ramp = view.ramp_before(xid->event.time_s);
    if (errors > 0)
        return fmt::format("{}{} after {} PCIe error{}; suspect its seat or its riser", what,
                           ramp ? " " + *ramp + "," : "", errors, errors == 1 ? "" : "s");
    if (const Found heat = view.heat(xid->xid.bus_id))
        return fmt::format("{} at {}; no PCIe errors before; suspect its heat sink or a fan", what, *heat);
    if (ramp) return fmt::format("{} {}; no PCIe errors before; suspect power", what, *ramp);
    return fmt::format("{}; no ramp and no PCIe errors before; suspect its power cable or its seat", what);
}

Found nvlink_error(const NodeView& view) {
    const auto xid = view.first_xid(std::array{74});
    if (!xid) return std::nullopt;
    return fmt::format("{} had an NVLink error (Xid 74); reseat the module and tighten its screws evenly",
                       view.gpu_name(xid->xid.bus_id));
}

Found memory_error(const NodeView& view) {
    const auto xid = view.first_xid(std::array{48, 63, 64, 94, 95});
    if (!xid) return std::nullopt;
    return fmt::format("{} had a memory error (Xid {}); reset it, and replace it if the error returns",
                       view.gpu_name(xid->xid.bus_id), xid->xid.number);
}

Found gpu_processor_halted(const NodeView& view) {
    const auto xid = view.first_xid(std::array{62, 119, 120});
    if (!xid) return std::nullopt;
    return fmt::format("a processor inside {} does not answer (Xid {}); restart the node",
                       view.gpu_name(xid->xid.bus_id), xid->xid.number);
}

Found out_of_memory(const NodeView& view) {
    for (const KernelEvent& event : view.node.kernel)
        if (event.text.find("Out of memory: ") != std::string::npos &&
            event.text.find("(voltpile)") != std::string::npos)
            return "ran out of memory, and the kernel killed a rank; use fewer ranks or a smaller job";
    return std::nullopt;
}

Found hung_driver(const NodeView& view) {
    const bool hung = !view.node.samples.empty() && view.node.samples.back().gpus.hung;
    const bool found = std::ranges::any_of(view.node.findings, [](const NodeFinding& finding) {
        return finding.text.find("driver hangs") != std::string::npos;
    });
    if (!hung && !found) return std::nullopt;
    return "the NVIDIA driver hangs; suspect a badly seated module: tighten its screws, then restart the "
           "node";
}

Found lost_after_a_ramp(const NodeView& view) {
    if (view.node.lost.empty() || view.node.samples.empty()) return std::nullopt;
    const Found ramp = view.ramp_before(view.node.samples.back().time_s);
    if (!ramp) return std::nullopt;
    return fmt::format("vanished {}; suspect its power supply", *ramp);
}

Found lost_node(const NodeView& view) {
    if (view.node.lost.empty()) return std::nullopt;
    return fmt::format("vanished ({}); it lost power, crashed or lost its network", view.node.lost);
}

Found slowed_by_power(const NodeView& view) {
    const Found gpu = view.braked_gpu();
    if (!gpu) return std::nullopt;
    return fmt::format("{} was slowed down by its power supply before the job died; suspect power", *gpu);
}

Found bad_node(const NodeView& view) {
    for (const NodeFinding& finding : view.node.findings)
        if (finding.health == Health::Bad) return fmt::format("{}; {}", finding.text, finding.advice);
    return std::nullopt;
}

Found program_error(const NodeView& view) {
    const auto xid = view.first_xid(std::array{13, 31, 43});
    if (!xid) return std::nullopt;
    return fmt::format("a program failed on {} (Xid {}); usually an error of the program",
                       view.gpu_name(xid->xid.bus_id), xid->xid.number);
}

Found rising_pcie_errors(const NodeView& view) {
    const NodeSample* sample = view.last();
    if (!sample) return std::nullopt;
    for (const GpuSnapshot& gpu : sample->gpus.gpus)
        if (const int errors = view.pcie_errors(gpu.bus_id, view.attempt.end_s); errors > 0)
            return fmt::format("{} PCIe error{} at {} while the job ran; suspect its seat or its riser",
                               errors, errors == 1 ? "" : "s", view.gpu_name(gpu.bus_id));
    return std::nullopt;
}

// In the order in which causes hide consequences: a GPU that is gone makes programs fail and drivers hang.
constexpr std::array kRules{several_gpus_off_the_bus,
                            gpu_off_the_bus,
                            nvlink_error,
                            memory_error,
                            gpu_processor_halted,
                            out_of_memory,
                            hung_driver,
                            lost_after_a_ramp,
                            lost_node,
                            slowed_by_power,
                            bad_node,
                            program_error,
                            rising_pcie_errors};

}  // namespace

std::string judge_attempt(const AttemptEvidence& evidence) {
    for (const auto rule : kRules)
        for (const NodeEvidence& node : evidence.nodes)
            if (const Found found = rule({evidence, node})) return fmt::format("{} {}", node.name, *found);
    if (!evidence.last_error.empty()) return evidence.last_error;
    if (evidence.exit_code == 128 + SIGKILL) return "a process was killed (signal 9), and no node says why";
    if (evidence.exit_code == 128 + SIGSEGV) return "a rank crashed (signal 11): an error of the program";
    return fmt::format("exit code {}, and no node says why", evidence.exit_code);
}

}  // namespace voltpile
