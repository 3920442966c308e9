#include "machine/host_sensors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/kernel_files.h"
#include "base/process.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

constexpr double kNearLimit_c = 3;
constexpr const char* kCoolingAdvice = "check fans, heat sinks and the temperature of the room";

std::optional<double> value_in(const fs::path& file) {
    const std::string line = first_line(file);
    return line.empty() ? std::nullopt : std::optional(std::atof(line.c_str()));
}

// A sensor of a driver: the files NAME_input, NAME_label, NAME_crit and so on of a folder.
class Sensor {
  public:
    Sensor(const fs::path& device, std::string name) : device_(device), name_(std::move(name)) {}

    std::optional<double> value(const char* ending) const { return value_in(device_ / (name_ + ending)); }

    bool is(std::string_view kind) const { return name_.starts_with(kind); }

    bool raises_alarm() const {
        constexpr std::array<const char*, 4> alarms{"_alarm", "_crit_alarm", "_max_alarm", "_fault"};
        for (const char* alarm : alarms)
            if (value(alarm).value_or(0) > 0) return true;
        return false;
    }

    // "coretemp Package id 0", "nct6775 fan2"
    std::string title() const {
        const std::string label = first_line(device_ / (name_ + "_label"));
        return fmt::format("{} {}", first_line(device_ / "name"), label.empty() ? name_ : label);
    }

  private:
    fs::path device_;
    std::string name_;
};

std::optional<NodeFinding> judge_sensor(const Sensor& sensor) {
    const std::optional<double> value = sensor.value("_input");
    if (!value) return std::nullopt;
    const auto finding = [&](const std::string& text) {
        return NodeFinding{Health::Degraded, fmt::format("{}: {}", sensor.title(), text), kCoolingAdvice};
    };
    if (sensor.is("temp")) {
        constexpr double milli = 1e-3;
        const std::optional<double> crit = sensor.value("_crit"), limit = crit ? crit : sensor.value("_max");
        // Some boards give limits of 0 or below for inputs that nobody connected.
        if (limit && *limit > 0 && *value * milli >= *limit * milli - kNearLimit_c)
            return finding(fmt::format("{:.3g} °C; its limit is {:.3g}", *value * milli, *limit * milli));
    } else if (sensor.is("fan") && *value == 0 && sensor.value("_min").value_or(0) > 0) {
        return finding("this fan stands still");
    }
    if (sensor.raises_alarm()) return finding("it raises an alarm");
    return std::nullopt;
}

std::string trimmed(const std::string& text) {
    const auto begin = text.find_first_not_of(" \t\r");
    return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

}  // namespace

std::vector<NodeFinding> check_hwmon(const fs::path& sys) {
    std::vector<NodeFinding> findings;
    for (const fs::path& device : sorted_entries(sys / "class/hwmon"))
        for (const fs::path& file : sorted_entries(device)) {
            constexpr std::string_view ending = "_input";
            const std::string name = file.filename();
            const bool known =
                name.starts_with("temp") || name.starts_with("fan") || name.starts_with("power");
            if (!known || !name.ends_with(ending)) continue;
            if (auto found = judge_sensor({device, name.substr(0, name.size() - ending.size())}))
                findings.push_back(std::move(*found));
        }
    return findings;
}

std::vector<NodeFinding> check_ipmi(const fs::path& device, std::chrono::milliseconds deadline) {
    const auto program = find_program("ipmitool");
    if (!program || ::access(device.c_str(), R_OK | W_OK) != 0) return {};
    constexpr const char* advice =
        "see ipmitool mc info; restart the controller with ipmitool mc reset cold, or cut the node's power";
    ProcessResult result;
    try {
        result = run_process({{program->string(), "sdr", "list"}, "", {{"LC_ALL", "C"}}, deadline});
    } catch (const Error& error) {
        return {{Health::Ok, fmt::format("management controller: not read: {}", error.what()), advice}};
    }
    std::vector<NodeFinding> findings = judge_ipmi(result.out);  // also of what it said before it failed
    if (result.timed_out) {
        const double seconds = std::chrono::duration<double>(deadline).count();
        findings.push_back(
            {Health::Degraded,
             fmt::format("management controller: no answer to ipmitool sdr list in {:.3g} s", seconds),
             advice});
    } else if (result.out.empty()) {
        const std::string why = trimmed(result.err.substr(0, result.err.find('\n')));
        findings.push_back({Health::Ok,
                            fmt::format("management controller: ipmitool shows no sensors{}{}",
                                        why.empty() ? "" : ": ", why),
                            advice});
    }
    return findings;
}

std::vector<NodeFinding> judge_ipmi(const std::string& list) {
    std::vector<NodeFinding> findings;
    std::istringstream lines(list);
    for (std::string line; std::getline(lines, line);) {
        // "CPU1 Temp        | 45 degrees C      | ok"; cr: critical, nr: beyond recovery.
        const std::size_t first = line.find('|'), last = line.rfind('|');
        if (first == last) continue;
        const std::string state = trimmed(line.substr(last + 1));
        if (state != "cr" && state != "nr") continue;
        findings.push_back(
            {Health::Degraded,
             fmt::format("management controller: {}: {}, which is critical", trimmed(line.substr(0, first)),
                         trimmed(line.substr(first + 1, last - first - 1))),
             "see ipmitool sel list; check power supplies and cooling"});
    }
    return findings;
}

}  // namespace voltpile
