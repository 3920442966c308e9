#include "machine/node_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace voltpile {
namespace {

using nlohmann::json;

void put(json& object, const char* name, const std::optional<double>& number) {
    if (number) object[name] = *number;
}

std::optional<double> number_in(const json& object, std::string_view name) {
    const auto found = object.find(name);
    return found == object.end() || !found->is_number() ? std::nullopt : std::optional(found->get<double>());
}

json link_json(const NvLink& link) {
    json object{{"number", link.number}, {"up", link.up}, {"version", link.version}};
    if (link.to_switch) object["to_switch"] = true;
    if (!link.remote_bus_id.empty()) object["remote_bus_id"] = link.remote_bus_id;
    put(object, "replays", link.replays);
    put(object, "recoveries", link.recoveries);
    put(object, "crc_errors", link.crc_errors);
    return object;
}

NvLink link_from(const json& object) {
    return {object.at("number"),
            object.at("up"),
            object.at("version"),
            object.value("to_switch", false),
            object.value("remote_bus_id", ""),
            number_in(object, "replays"),
            number_in(object, "recoveries"),
            number_in(object, "crc_errors")};
}

json gpu_json(const GpuSnapshot& gpu) {
    json object{{"bus_id", gpu.bus_id}, {"name", gpu.name}, {"uuid", gpu.uuid}};
    if (!gpu.problem.empty()) object["problem"] = gpu.problem;
    for (const GpuNumber& number : kGpuNumbers)
        put(object, std::string(number.name).c_str(), gpu.*number.member);
    if (!gpu.links.empty()) {
        object["links"] = json::array();
        for (const NvLink& link : gpu.links) object["links"].push_back(link_json(link));
    }
    return object;
}

GpuSnapshot gpu_from(const json& object) {
    GpuSnapshot gpu;
    gpu.bus_id = object.at("bus_id");
    gpu.name = object.at("name");
    gpu.uuid = object.at("uuid");
    gpu.problem = object.value("problem", "");
    for (const GpuNumber& number : kGpuNumbers) gpu.*number.member = number_in(object, number.name);
    if (const auto links = object.find("links"); links != object.end())
        for (const json& link : *links) gpu.links.push_back(link_from(link));
    return gpu;
}

bool differ_in_numbers_alone(const NodeSample& a, const NodeSample& b) {
    const auto same = [](const GpuSnapshot& one, const GpuSnapshot& other) {
        return one.bus_id == other.bus_id && one.name == other.name && one.uuid == other.uuid &&
               one.problem == other.problem && one.links.empty() && other.links.empty();
    };
    return a.gpus.problem == b.gpus.problem && a.gpus.driver_version == b.gpus.driver_version &&
           a.gpus.cuda_version == b.gpus.cuda_version &&
           std::ranges::all_of(
               kHostNumbers,
               [&](const HostNumber& number) { return a.host.*number.member == b.host.*number.member; }) &&
           std::ranges::equal(a.gpus.gpus, b.gpus.gpus, same);
}

void apply_changes(const json& changed, NodeGpus& node) {
    for (std::size_t i = 0; i < node.gpus.size(); ++i)
        for (const GpuNumber& number : kGpuNumbers)
            if (changed.at(i).contains(number.name))
                node.gpus[i].*number.member = number_in(changed[i], number.name);
}

NodeSample whole_sample(const json& object) {
    NodeSample sample;
    sample.time_s = object.at("time_s");
    for (const HostNumber& number : kHostNumbers)
        sample.host.*number.member = number_in(object.at("host"), number.name);
    NodeGpus& node = sample.gpus;
    node.problem = object.value("problem", "");
    node.driver_version = object.at("driver_version");
    node.cuda_version = object.at("cuda_version");
    for (const json& gpu : object.at("gpus")) node.gpus.push_back(gpu_from(gpu));
    return sample;
}

}  // namespace

std::string to_json(const NodeSample& sample) {
    const NodeGpus& node = sample.gpus;
    json object{{"time_s", sample.time_s},
                {"host", json::object()},
                {"driver_version", node.driver_version},
                {"cuda_version", node.cuda_version}};
    if (!node.problem.empty()) object["problem"] = node.problem;
    for (const HostNumber& number : kHostNumbers)
        put(object["host"], std::string(number.name).c_str(), sample.host.*number.member);
    object["gpus"] = json::array();
    for (const GpuSnapshot& gpu : node.gpus) object["gpus"].push_back(gpu_json(gpu));
    // Names come from drivers and may hold any byte.
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string change_json(const NodeSample& sample, const NodeSample& before) {
    if (!differ_in_numbers_alone(sample, before)) return to_json(sample);
    std::string line = fmt::format("{{\"time_s\":{},\"changed\":[", sample.time_s);
    for (std::size_t i = 0; i < sample.gpus.gpus.size(); ++i) {
        line += i == 0 ? "{" : ",{";
        const GpuSnapshot &gpu = sample.gpus.gpus[i], &then = before.gpus.gpus[i];
        const char* separator = "";
        for (const GpuNumber& number : kGpuNumbers) {
            const std::optional<double> now = gpu.*number.member;
            if (now == then.*number.member) continue;
            line += fmt::format("{}\"{}\":{}", std::exchange(separator, ","), number.name,
                                now && std::isfinite(*now) ? fmt::to_string(*now) : "null");
        }
        line += '}';
    }
    return line + "]}";
}

NodeSample sample_from_json(const std::string& text) {
    NodeSample sample;
    update_from_json(text, sample);
    return sample;
}

void update_from_json(const std::string& text, NodeSample& sample) {
    try {
        const json object = json::parse(text);
        if (const auto changed = object.find("changed"); changed != object.end()) {
            apply_changes(*changed, sample.gpus);
            sample.time_s = object.at("time_s");
        } else {
            sample = whole_sample(object);
        }
    } catch (const json::exception& error) {
        throw MachineError(fmt::format("the answer of voltpile-probe cannot be read: {}", error.what()));
    }
}

}  // namespace voltpile
