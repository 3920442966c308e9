// What `voltpile calibrate` has measured on a machine, kept as a file in the user's cache folder. Plans
// of jobs on that machine use it. Rates are named by the work they measure: "threebody euler fp64" in
// pair-steps per second, and for language models and runs the names below.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plan/topology.h"

namespace voltpile {

// A decode step with n sequences takes 1 / S + weights / W + layers / L + n x products / P seconds: S steps
// of the engine without their passes, W bytes, L layers and P products of a weight with an activation per
// second. kLlmPrompt: products per second while a prompt is read. Of a core W and products are a share of
// what all cores do. Cores multiply most quantized weights by 8-bit activations; the other weights, such as
// fp16, have the rates kLlmFloatProducts and kLlmFloatPrompt there.
inline constexpr const char* kLlmSteps = "llm steps";
inline constexpr const char* kLlmWeights = "llm weights";
inline constexpr const char* kLlmLayers = "llm layers";
inline constexpr const char* kLlmProducts = "llm products";
inline constexpr const char* kLlmPrompt = "llm prompt";
inline constexpr const char* kLlmFloatProducts = "llm float products";
inline constexpr const char* kLlmFloatPrompt = "llm float prompt";

// Runs that start and end a second: 1 / seconds from the start of the process to the first range, and from
// the last range to the end of the process.
inline constexpr const char* kRunStarts = "run starts";
inline constexpr const char* kRunEnds = "run ends";

// What distinguishes a machine from others. GPUs are not part of it, because a batch system may show a job
// only some of them: their rates name the model.
struct MachineIdentity {
    std::string host;
    std::string cpu;  // its model
    bool operator==(const MachineIdentity&) const = default;
};

struct Calibration {
    MachineIdentity machine;
    std::string date;     // "2026-11-23 07:08"
    std::string version;  // of Voltpile
    std::string driver;   // of the GPUs; empty without GPUs
    std::vector<MeasuredRate> rates;
};

// Returns "calibration-<host>-<digits>.toml"; the digits stand for the processor.
std::string calibration_name(const MachineIdentity& machine);

std::string to_toml(const Calibration& calibration);

// Throws JobError, which names the file and the line, for a text that is not a calibration.
Calibration parse_calibration(const std::string& text, const std::string& path);

// What plans may use of the calibration of a machine.
struct KnownRates {
    std::vector<MeasuredRate> rates;
    std::string origin;   // origin_text(); empty: nothing is known
    std::string problem;  // why a calibration that exists is not used
};

// Reads the calibration of a machine from a folder (default_cache_folder()). Files that cannot be read, are
// broken, or were written for another machine or by another version of Voltpile are not used. Throws nothing.
KnownRates load_rates(const std::filesystem::path& folder, const MachineIdentity& machine,
                      const std::string& version);

// "2026-11-23 07:08 by voltpile 0.2.0, driver 580.65".
std::string origin_text(const Calibration& calibration);

}  // namespace voltpile
