#include "plan/calibration.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "job/fingerprint.h"
#include "plan/cluster_table.h"
#include "plan/toml_file.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 12;

// A host's name as a part of a file name.
std::string plain(std::string name) {
    std::ranges::replace_if(
        name, [](char c) { return c == '/' || static_cast<unsigned char>(c) <= ' '; }, '_');
    return name;
}

}  // namespace

std::string calibration_name(const MachineIdentity& machine) {
    return fmt::format("calibration-{}-{}.toml", plain(machine.host),
                       hash_128(machine.cpu).substr(0, kDigits));
}

std::string to_toml(const Calibration& calibration) {
    const MachineIdentity& machine = calibration.machine;
    std::string text = fmt::format(
        "# Written by `voltpile calibrate`, which replaces it; `voltpile calibrate --clear` removes it.\n"
        "date = {}\nversion = {}\ndriver = {}\nhost = {}\ncpu = {}\n",
        toml_text(calibration.date), toml_text(calibration.version), toml_text(calibration.driver),
        toml_text(machine.host), toml_text(machine.cpu));
    for (const MeasuredRate& rate : calibration.rates)
        text += fmt::format("\n[[rate]]\nwork = {}\nprocessor = {}\nper_s = {:.6g}\n", toml_text(rate.work),
                            toml_text(rate.processor), rate.per_s);
    return text;
}

Calibration parse_calibration(const std::string& text, const std::string& path) {
    const toml::table file = parse_toml(text, path);
    const ClusterTable table(file, path);
    table.allow({"date", "version", "driver", "host", "cpu", "rate"});
    Calibration calibration;
    calibration.date = table.text("date");
    calibration.version = table.text("version");
    calibration.driver = table.text("driver");
    calibration.machine = {table.text("host"), table.text("cpu")};
    constexpr double most = 1e30;
    for (const ClusterTable& rate : table.tables("rate")) {
        rate.allow({"work", "processor", "per_s"});
        calibration.rates.push_back(
            {rate.text("work"), rate.text("processor"), rate.number("per_s", 0, most)});
    }
    if (calibration.date.empty()) table.fail("date", "date is empty");
    return calibration;
}

KnownRates load_rates(const fs::path& folder, const MachineIdentity& machine, const std::string& version) {
    const fs::path path = folder / calibration_name(machine);
    std::error_code error;
    if (folder.empty() || !fs::exists(path, error)) return {};
    const auto unused = [](const std::string& why) {
        return KnownRates{{}, "", why + ": plans do not use it; `voltpile calibrate` measures anew"};
    };
    try {
        const Calibration found =
            parse_calibration(toml_file_text(path.string(), "a calibration"), path.string());
        if (found.machine != machine) return unused(path.string() + " is the calibration of another machine");
        if (found.version != version)
            return unused(
                fmt::format("{} was measured by voltpile {}, not {}", path.string(), found.version, version));
        return {found.rates, origin_text(found), ""};
    } catch (const JobError& problem) {
        return unused(problem.what());
    }
}

std::string origin_text(const Calibration& calibration) {
    return fmt::format("{} by voltpile {}{}", calibration.date, calibration.version,
                       calibration.driver.empty() ? "" : ", driver " + calibration.driver);
}

}  // namespace voltpile
