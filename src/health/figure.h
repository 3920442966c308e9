// A measured figure of a node beside what theory says, as plain data.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace voltpile {

enum class FigureKind { HostRead, GpuRead, GpuCopy, Fp64, Tensor, ToGpu, FromGpu, GpuToGpu };

// What is the same for all figures of a kind, by FigureKind.
struct FigureFacts {
    const char* name;    // in JSON
    const char* title;   // for people
    const char* unit;    // for people: the value times `scale`
    double scale;        // values are in bytes or floating-point operations per second
    double least_share;  // of the theory; a healthy device stays above it
    double peer_share;   // of the median of its peers; likewise
    const char* advice;  // if it does not
};
inline constexpr const char* clock_advice =
    "check its clocks, power limit and heat: nvidia-smi -q -d CLOCK,POWER,TEMPERATURE,PERFORMANCE";
inline constexpr const char* slot_advice =
    "check its slot and riser (voltpile topo), and for PCIe errors; other work on the node slows it as well";
inline constexpr std::array kFigureFacts{
    FigureFacts{
        "host_read", "host memory, read", "GB/s", 1e-9, 0.5, 0.75,
        "a memory module may be missing or failing (dmidecode -t memory); other work slows it as well"},
    FigureFacts{"gpu_read", "memory, read", "GB/s", 1e-9, 0.75, 0.9, clock_advice},
    FigureFacts{"gpu_copy", "memory, copied", "GB/s", 1e-9, 0.7, 0.9, clock_advice},
    FigureFacts{"fp64", "FP64", "TFLOP/s", 1e-12, 0.7, 0.85, clock_advice},
    FigureFacts{"tensor", "tensor cores, fp16", "TFLOP/s", 1e-12, 0.6, 0.85, clock_advice},
    FigureFacts{"to_gpu", "host to GPU", "GB/s", 1e-9, 0.6, 0.8, slot_advice},
    FigureFacts{"from_gpu", "GPU to host", "GB/s", 1e-9, 0.6, 0.8, slot_advice},
    FigureFacts{"gpu_to_gpu", "GPU to GPU", "GB/s", 1e-9, 0.6, 0.85,
                "NVLink: reseat the modules and tighten their screws evenly; PCIe: switch ACS off"},
};
constexpr const FigureFacts& facts(FigureKind kind) {
    return kFigureFacts[static_cast<std::size_t>(kind)];
}

struct Figure {
    FigureKind kind = FigureKind::HostRead;
    std::string place;  // "GPU 2 (0000:3a:00.0)", "GPU 0 to GPU 1", "NUMA node 1 (16 cores)"
    std::string model;  // "Tesla V100-SXM2-16GB": figures of one kind, model and theory are peers
    double value = 0;   // bytes or floating-point operations per second
    double theory = 0;  // 0: unknown
    double least = 0;   // that a healthy device reaches; 0: unknown

    bool is_peer_of(const Figure& other) const {
        return kind == other.kind && model == other.model && theory == other.theory;
    }
};

// Returns the figure with the least value that its kind's share of the theory allows.
Figure figure_of(FigureKind kind, std::string place, std::string model, double value, double theory);

// Returns "412 GB/s".
std::string value_text(FigureKind kind, double value);

// Returns a table of the figures for people: a line for each group of peers, with its least and its most
// value. Empty for none.
std::string figures_text(const std::vector<Figure>& figures);

}  // namespace voltpile
