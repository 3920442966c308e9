#include "comm/mpi/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace voltpile {
namespace {

constexpr const char* tcp_include = "OMPI_MCA_btl_tcp_if_include";
constexpr const char* tcp_exclude = "OMPI_MCA_btl_tcp_if_exclude";
constexpr const char* ucx_devices = "UCX_NET_DEVICES";

void append(std::string& list, const std::string& item, const char* separator = ",") {
    if (!list.empty()) list += separator;
    list += item;
}

// UCX over TCP: by default Open MPI uses UCX on RDMA devices only, and UCX tries every interface.
void use_ucx_without_rdma(Settings& settings, const std::vector<NetworkInterface>& interfaces) {
    settings["OMPI_MCA_pml_ucx_tls"] = "any";
    settings["OMPI_MCA_pml_ucx_devices"] = "any";
    settings["UCX_TLS"] = "tcp,sm,self";
    std::string names;
    for (const NetworkInterface& each : interfaces)
        if (!each.is_virtual) append(names, each.name);
    if (!names.empty()) settings[ucx_devices] = names;
}

bool ucx_is_loaded() {
    // Open MPI unloads the transports that it has not chosen.
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find("mca_pml_ucx") != std::string::npos) return true;
    return false;
}

// Returns true if `list`, "eth0,mlx5_0:1", names the device. An empty list names all.
bool names(const std::string& list, const std::string& device) {
    if (list.empty()) return true;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        const std::string item = list.substr(begin, end - begin);
        if (item.substr(0, item.find(':')) == device) return true;
        begin = end + 1;
    }
    return false;
}

std::string with_speed(const std::string& name, double gb_per_s) {
    return gb_per_s > 0 ? fmt::format("{} ({:g} Gb/s)", name, gb_per_s) : name;
}

std::string value_of(const Settings& settings, const char* name) {
    const auto it = settings.find(name);
    return it == settings.end() ? "" : it->second;
}

}  // namespace

Settings transport_settings(const TransportRequest& request, const std::vector<NetworkInterface>& interfaces,
                            const std::vector<RdmaPort>& ports) {
    // Which interfaces of two hosts reach each other, judged by their addresses. By default Open MPI 5 asks
    // the kernel's routes, finds none between two IPv6 addresses of one host, and every rank prints a
    // warning.
    Settings settings{{"OMPI_MCA_reachable", "weighted"}};
    const bool device_is_rdma =
        std::ranges::any_of(ports, [&](const RdmaPort& port) { return port.device == request.device; });
    if (request.transport == Transport::Ucx) {
        settings["OMPI_MCA_pml"] = "ucx";
        const bool rdma = request.device.empty() ? !ports.empty() : device_is_rdma;
        if (rdma)
            settings["OMPI_MCA_pml_ucx_devices"] = "any";  // not only Mellanox's
        else
            use_ucx_without_rdma(settings, interfaces);
    } else if (request.transport == Transport::Tcp) {
        settings["OMPI_MCA_pml"] = "ob1";
        settings["OMPI_MCA_btl"] = "^openib";
    }
    if (!request.device.empty()) {
        if (device_is_rdma)
            settings[ucx_devices] = request.device + ":1";
        else
            settings[request.transport == Transport::Ucx ? ucx_devices : tcp_include] = request.device;
    }
    if (!settings.contains(tcp_include)) {
        std::string excluded;
        for (const NetworkInterface& each : interfaces)
            if (each.is_virtual) append(excluded, each.name);
        // This replaces Open MPI's own list, so the first two entries repeat it.
        if (!excluded.empty()) settings[tcp_exclude] = "127.0.0.1/8,sppp," + excluded;
    }
    return settings;
}

void apply(const Settings& settings) {
    // The two lists exclude each other, also if one of them comes from the command line.
    const bool listed = std::getenv(tcp_include) || std::getenv(tcp_exclude);
    for (const auto& [name, value] : settings)
        if (!(listed && (name == tcp_include || name == tcp_exclude))) setenv(name.c_str(), value.c_str(), 0);
}

std::string transport_text(bool ucx, const Settings& settings,
                           const std::vector<NetworkInterface>& interfaces,
                           const std::vector<RdmaPort>& ports) {
    std::string devices;
    if (ucx) {
        const std::string asked = value_of(settings, ucx_devices);
        for (const RdmaPort& port : ports)
            if (names(asked, port.device)) append(devices, with_speed(port.device, port.gb_per_s), ", ");
        if (!devices.empty()) return "UCX over " + devices;
    }
    const std::string include = value_of(settings, ucx ? ucx_devices : tcp_include);
    for (const NetworkInterface& each : interfaces)
        if (!each.is_virtual && names(include, each.name))
            append(devices, with_speed(each.name, each.gb_per_s), ", ");
    if (devices.empty() && !include.empty()) devices = include;  // "10.0.0.0/24"
    if (devices.empty()) return ucx ? "UCX" : "TCP";
    return (ucx ? "UCX/TCP over " : "TCP over ") + devices;
}

std::string transport_text() {
    Settings settings;
    for (const char* name : {ucx_devices, tcp_include})
        if (const char* value = std::getenv(name)) settings[name] = value;
    return transport_text(ucx_is_loaded(), settings, network_interfaces(), active_rdma_ports());
}

}  // namespace voltpile
