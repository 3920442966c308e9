#include "run/server_status.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "results/telemetry_log.h"

namespace voltpile {

namespace {

constexpr const char* address_ending = ".address";

}  // namespace

double ServerStatus::age_s() const {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::max(0.0, std::chrono::duration<double>(now).count() - static_cast<double>(unix_time));
}

std::filesystem::path server_status_path(const std::filesystem::path& address_file) {
    return address_file.string() + ".json";
}

void write_server_status(const std::filesystem::path& path, const ServerStatus& status) {
    const nlohmann::json json{{"address", status.address},    {"host", status.host},
                              {"process", status.process},    {"draining", status.draining},
                              {"running", status.running},    {"waiting", status.waiting},
                              {"answered", status.answered},  {"tokens_per_s", status.tokens_per_s},
                              {"unix_time", status.unix_time}};
    const std::string unfinished = path.string() + ".part";
    std::ofstream file(unfinished);
    file << json.dump() << "\n";
    file.close();
    if (!file) throw FileError("write", unfinished, errno);
    if (std::rename(unfinished.c_str(), path.c_str()) != 0) throw FileError("write", path.string(), errno);
}

std::optional<ServerStatus> read_server_status(const std::filesystem::path& path) {
    std::ifstream file(path);
    const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    try {
        ServerStatus status;
        json.at("address").get_to(status.address);
        json.at("host").get_to(status.host);
        json.at("process").get_to(status.process);
        json.at("draining").get_to(status.draining);
        json.at("running").get_to(status.running);
        json.at("waiting").get_to(status.waiting);
        json.at("answered").get_to(status.answered);
        json.at("tokens_per_s").get_to(status.tokens_per_s);
        json.at("unix_time").get_to(status.unix_time);
        return status;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

std::filesystem::path find_address_file(const std::filesystem::path& named) {
    std::error_code error;
    std::filesystem::path usual = named;
    const std::string text = named.string();
    if (text.ends_with(kTelemetryLogEnding))
        usual = text.substr(0, text.size() - kTelemetryLogEnding.size()) + ".h5";
    usual.replace_extension(address_ending);
    return std::filesystem::exists(server_status_path(named), error) ? named : usual;
}

std::optional<ServerStatus> find_server_status(const std::filesystem::path& named) {
    return read_server_status(server_status_path(find_address_file(named)));
}

std::filesystem::path telemetry_log_file(const std::filesystem::path& address_file) {
    std::filesystem::path file = address_file;
    if (file.extension() == address_ending) file.replace_extension();
    file += kTelemetryLogEnding;
    return file;
}

std::filesystem::path usual_address_file(const std::string& job_name) {
    return std::filesystem::path("results") / (job_name + address_ending);
}

}  // namespace voltpile
