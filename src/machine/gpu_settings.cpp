#include "machine/gpu_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/process.h"
#include "machine/nvml.h"
#include "machine/probe.h"

namespace voltpile {
namespace {

using nlohmann::json;

struct NamedSetting {
    const char* name;
    std::optional<double> GpuSettings::*member;
};
constexpr std::array kSettings{
    NamedSetting{"power_limit_w", &GpuSettings::power_limit_w},
    NamedSetting{"application_memory_clock_mhz", &GpuSettings::application_memory_clock_mhz},
    NamedSetting{"application_clock_mhz", &GpuSettings::application_clock_mhz},
    NamedSetting{"locked_clock_mhz", &GpuSettings::locked_clock_mhz},
};

unsigned rounded(double value) {
    return static_cast<unsigned>(std::lround(value));
}

// Sets the values of one GPU and collects what came of it.
class GpuSetter {
  public:
    GpuSetter(const Nvml& nvml, NvmlDevice device, SettingsOutcome& outcome)
        : nvml_(nvml), device_(device), outcome_(outcome) {}

    // setting: what the function sets, and nothing else.
    template <class... Parameters, class... Arguments>
    bool set(const GpuSettings& setting, NvmlCall<Parameters...> function, Arguments... values) {
        const int status = function ? function(device_, values...) : static_cast<int>(kNvmlFunctionNotFound);
        if (status == kNvmlSuccess)
            add(outcome_.done, setting);
        else if (status == kNvmlNoPermission)
            add(outcome_.not_permitted, setting);
        else
            outcome_.problems.push_back(to_text(setting) + ": " + nvml_.text(status));
        return status == kNvmlSuccess;
    }

    // Drivers accept values that the hardware then rounds or ignores.
    template <class... Parameters, class... Arguments>
    void expect(const GpuSettings& setting, double value, double scale, NvmlCall<Parameters...> function,
                Arguments... arguments) {
        unsigned read = 0;
        if (!function || function(device_, arguments..., &read) != kNvmlSuccess) return;
        if (std::abs(read * scale - value) > 0.5)
            outcome_.problems.push_back(
                fmt::format("{}: the driver reads back {:.5g}", to_text(setting), read * scale));
    }

  private:
    static void add(GpuSettings& to, const GpuSettings& setting) {
        for (const NamedSetting& each : kSettings)
            if (setting.*each.member) to.*each.member = setting.*each.member;
    }

    const Nvml& nvml_;
    NvmlDevice device_;
    SettingsOutcome& outcome_;
};

void set_gpu(const Nvml& nvml, NvmlDevice device, const GpuSettings& to, SettingsOutcome& outcome) {
    const NvmlFunctions& f = nvml.functions();
    GpuSetter setter(nvml, device, outcome);
    constexpr int graphics = kNvmlGraphicsClock;
    if (to.power_limit_w) {
        GpuSettings limit;
        limit.power_limit_w = to.power_limit_w;
        if (setter.set(limit, f.set_power_limit, rounded(*to.power_limit_w * 1e3)))
            setter.expect(limit, *to.power_limit_w, 1e-3, f.power_limit);
    }
    if (to.application_clock_mhz && to.application_memory_clock_mhz) {
        GpuSettings clocks;
        clocks.application_memory_clock_mhz = to.application_memory_clock_mhz;
        clocks.application_clock_mhz = to.application_clock_mhz;
        if (setter.set(clocks, f.set_application_clocks, rounded(*to.application_memory_clock_mhz),
                       rounded(*to.application_clock_mhz)))
            setter.expect(clocks, *to.application_clock_mhz, 1, f.application_clock, graphics);
    }
    if (to.locked_clock_mhz) {
        GpuSettings lock;
        lock.locked_clock_mhz = to.locked_clock_mhz;
        if (*to.locked_clock_mhz > 0)
            setter.set(lock, f.lock_clocks, 0U, rounded(*to.locked_clock_mhz));
        else
            setter.set(lock, f.unlock_clocks);
    }
}

NvmlDevice device_at(const Nvml& nvml, const std::string& bus_id) {
    const NvmlFunctions& f = nvml.functions();
    unsigned count = 0;
    f.device_count(&count);
    for (unsigned index = 0; index < count; ++index) {
        NvmlDevice device = nullptr;
        NvmlPci pci{};
        if (f.device_by_index(index, &device) == kNvmlSuccess && f.pci(device, &pci) == kNvmlSuccess &&
            plain_bus_id(pci.bus_id) == bus_id)
            return device;
    }
    return nullptr;
}

json settings_json(const GpuSettings& gpu) {
    json object{{"bus_id", gpu.bus_id}};
    for (const NamedSetting& each : kSettings)
        if (gpu.*each.member) object[each.name] = *(gpu.*each.member);
    return object;
}

GpuSettings settings_of(const json& object) {
    GpuSettings gpu;
    gpu.bus_id = object.at("bus_id");
    for (const NamedSetting& each : kSettings)
        if (object.contains(each.name)) gpu.*each.member = object[each.name].get<double>();
    return gpu;
}

}  // namespace

std::string to_json(const std::vector<GpuSettings>& settings) {
    json list = json::array();
    for (const GpuSettings& gpu : settings) list.push_back(settings_json(gpu));
    return list.dump();
}

std::vector<GpuSettings> settings_from_json(const std::string& text) {
    std::vector<GpuSettings> settings;
    try {
        for (const json& object : json::parse(text)) settings.push_back(settings_of(object));
    } catch (const json::exception& error) {
        throw MachineError(fmt::format("these settings of GPUs cannot be read: {}", error.what()));
    }
    return settings;
}

std::string to_json(const std::vector<SettingsOutcome>& outcomes) {
    json list = json::array();
    for (const SettingsOutcome& each : outcomes)
        list.push_back({{"done", settings_json(each.done)},
                        {"not_permitted", settings_json(each.not_permitted)},
                        {"problems", each.problems}});
    return list.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<SettingsOutcome> outcomes_from_json(const std::string& text) {
    std::vector<SettingsOutcome> outcomes;
    try {
        for (const json& each : json::parse(text))
            outcomes.push_back(
                {settings_of(each.at("done")), settings_of(each.at("not_permitted")), each.at("problems")});
    } catch (const json::exception& error) {
        throw MachineError(fmt::format("the answer of voltpile-probe cannot be read: {}", error.what()));
    }
    return outcomes;
}

std::vector<SettingsOutcome> set_gpus(const Nvml& nvml, const std::vector<GpuSettings>& settings) {
    std::vector<SettingsOutcome> outcomes;
    for (const GpuSettings& gpu : settings) {
        SettingsOutcome& outcome = outcomes.emplace_back();
        outcome.done.bus_id = outcome.not_permitted.bus_id = gpu.bus_id;
        if (NvmlDevice device = device_at(nvml, gpu.bus_id))
            set_gpu(nvml, device, gpu, outcome);
        else
            outcome.problems.emplace_back("the driver does not list this GPU");
    }
    return outcomes;
}

std::vector<SettingsOutcome> change_gpus(const std::vector<GpuSettings>& settings,
                                         std::chrono::milliseconds deadline) {
    const ProcessResult result =
        run_process({{probe_program().string(), "--set"}, to_json(settings), {}, deadline});
    if (result.timed_out)
        throw MachineError(fmt::format("the NVIDIA driver hangs: no answer in {:.3g} s",
                                       std::chrono::duration<double>(deadline).count()));
    if (!result.succeeded())
        throw MachineError(fmt::format("voltpile-probe failed with exit code {}: {}", result.exit_code,
                                       result.err.substr(0, result.err.find('\n'))));
    return outcomes_from_json(result.out);
}

GpuSettings current_settings(const GpuSnapshot& gpu, const GpuSettings& change) {
    GpuSettings now;
    now.bus_id = gpu.bus_id;
    if (change.power_limit_w) now.power_limit_w = gpu.power_limit_w;
    if (change.application_clock_mhz) {
        now.application_memory_clock_mhz = gpu.application_memory_clock_mhz;
        now.application_clock_mhz = gpu.application_clock_mhz;
    }
    if (change.locked_clock_mhz) now.locked_clock_mhz = 0;  // NVML does not say what it is
    return now;
}

std::string to_text(const GpuSettings& settings) {
    std::vector<std::string> parts;
    if (settings.power_limit_w) parts.push_back(fmt::format("power limit {:.5g} W", *settings.power_limit_w));
    if (settings.application_clock_mhz)
        parts.push_back(fmt::format("application clock {:.5g} MHz", *settings.application_clock_mhz));
    if (settings.locked_clock_mhz)
        parts.push_back(*settings.locked_clock_mhz > 0
                            ? fmt::format("clock at most {:.5g} MHz", *settings.locked_clock_mhz)
                            : "any clock");
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string nvidia_smi_command(const GpuSettings& settings) {
    std::string command = "nvidia-smi";
    if (settings.power_limit_w) command += fmt::format(" -pl {:.5g}", *settings.power_limit_w);
    if (settings.application_clock_mhz && settings.application_memory_clock_mhz)
        command += fmt::format(" -ac {:.5g},{:.5g}", *settings.application_memory_clock_mhz,
                               *settings.application_clock_mhz);
    if (settings.locked_clock_mhz) command += fmt::format(" -lgc 0,{:.5g}", *settings.locked_clock_mhz);
    return command;
}

}  // namespace voltpile
