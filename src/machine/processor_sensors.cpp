#include "machine/processor_sensors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "base/kernel_files.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::array<std::string_view, 4> kProcessorDrivers{"coretemp", "k10temp", "zenpower", "cpu_thermal"};
constexpr const char* kPowerMeterDriver = "power_meter";  // of ACPI: the whole host
constexpr double kMicroUnit = 1e-6, kMilliDegree = 1e-3;
// A meter behind a slow management controller would hold up the samples. On a busy host any read can take
// long, so it takes several in a row.
constexpr std::chrono::milliseconds kSlow{50};
constexpr int kSlowReads = 5;
// The counter of a package has 262 kJ: at 500 W it starts again after nine minutes.
constexpr double kLongestGap_s = 300;

std::optional<double> sensor_number(const fs::path& file) {
    const std::string line = first_line(file);
    double value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    return error == std::errc() ? std::optional(value) : std::nullopt;
}

// Returns the sensors of whole packages where the driver has them, so that not every core is woken up for
// its own, and else all.
std::vector<fs::path> temperatures_of(const fs::path& device) {
    std::vector<fs::path> packages, all;
    for (const fs::path& file : sorted_entries(device)) {
        constexpr std::string_view ending = "_input";
        std::string name = file.filename();
        if (!name.starts_with("temp") || !name.ends_with(ending)) continue;
        all.push_back(file);
        name.resize(name.size() - ending.size());
        const std::string label = first_line(device / (name + "_label"));
        // Tctl is above the true temperature on processors that have Tdie, too.
        if (label.starts_with("Package") || label == "Tdie") packages.push_back(file);
    }
    return packages.empty() ? all : packages;
}

}  // namespace

ProcessorSensors::ProcessorSensors(const fs::path& sys) {
    for (const fs::path& device : sorted_entries(sys / "class/hwmon")) {
        const std::string driver = first_line(device / "name");
        if (std::ranges::find(kProcessorDrivers, driver) != kProcessorDrivers.end())
            std::ranges::move(temperatures_of(device), std::back_inserter(temperatures_));
        if (driver != kPowerMeterDriver) continue;
        std::error_code error;
        const fs::path average = device / "power1_average";
        meters_.push_back({fs::exists(average, error) ? average : device / "power1_input", 0});
    }
    for (const fs::path& zone : sorted_entries(sys / "class/powercap"))
        // "intel-rapl:0" is a package, also of AMD's processors, or the whole platform, "intel-rapl:0:0" a
        // part of it.
        if (zone.filename().string().starts_with("intel-rapl:") &&
            first_line(zone / "name").starts_with("package"))
            packages_.push_back(
                {zone / "energy_uj", sensor_number(zone / "max_energy_range_uj").value_or(0), {}});
}

void ProcessorSensors::read(HostReading& reading) {
    reading.cpu_temperature_c.reset();
    for (const fs::path& file : temperatures_)
        if (const auto value = sensor_number(file))
            reading.cpu_temperature_c =
                std::max(reading.cpu_temperature_c.value_or(-1e3), *value * kMilliDegree);
    reading.cpu_power_w = package_power_w();
    reading.host_power_w = host_power_w();
}

// Nothing if one of the packages is unknown: the sum of the others would mislead.
std::optional<double> ProcessorSensors::package_power_w() {
    const auto now = steady_clock::now();
    const auto previous = std::exchange(before_, now);
    double joules = 0;
    bool known = !packages_.empty() && previous.has_value();
    for (Counter& package : packages_) {
        const std::optional<double> energy = sensor_number(package.file);
        const std::optional<double> before = std::exchange(package.before_uj, energy);
        if (!energy || !before || (*energy < *before && package.range_uj <= 0)) {
            known = false;
            continue;
        }
        const double increase = *energy - *before;
        joules += kMicroUnit * (increase < 0 ? increase + package.range_uj : increase);
    }
    if (!known) return std::nullopt;
    const double seconds = std::chrono::duration<double>(now - *previous).count();
    if (seconds <= 0 || seconds > kLongestGap_s) return std::nullopt;
    return joules / seconds;
}

std::optional<double> ProcessorSensors::host_power_w() {
    std::optional<double> sum;
    std::erase_if(meters_, [&](Meter& meter) {
        const auto begin = steady_clock::now();
        if (const auto value = sensor_number(meter.file)) sum = sum.value_or(0) + *value * kMicroUnit;
        meter.slow_reads = steady_clock::now() - begin > kSlow ? meter.slow_reads + 1 : 0;
        return meter.slow_reads == kSlowReads;
    });
    return sum;
}

}  // namespace voltpile
