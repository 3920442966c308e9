#include "cluster/hosts/inventory.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "base/kernel_files.h"
#include "base/physical_memory.h"
#include "comm/mpi/library.h"
#include "comm/network.h"
#include "device/device.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

int physical_cores() {
    std::set<std::string> cores;
    for (const fs::path& cpu : sorted_entries("/sys/devices/system/cpu"))
        if (const std::string siblings = first_line(cpu / "topology/thread_siblings_list"); !siblings.empty())
            cores.insert(siblings);
    return cores.empty() ? static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) : static_cast<int>(cores.size());
}

int nvidia_gpus_on_bus() {
    int count = 0;
    for (const fs::path& device : sorted_entries(sys_folder() / "bus/pci/devices"))
        if (first_line(device / "vendor") == "0x10de" && first_line(device / "class").starts_with("0x03"))
            ++count;
    return count;
}

std::vector<std::string> addresses_of(const std::string& interface, const ifaddrs* all) {
    std::vector<std::string> out;
    for (const ifaddrs* each = all; each; each = each->ifa_next) {
        if (interface != each->ifa_name || !each->ifa_addr) continue;
        const int family = each->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        std::array<char, NI_MAXHOST> text{};
        const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        if (getnameinfo(each->ifa_addr, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0)
            out.emplace_back(text.data());
    }
    return out;
}

std::string real_path(void* symbol) {
    Dl_info where{};
    if (!dladdr(symbol, &where) || !where.dli_fname) return "";
    std::error_code error;
    const auto path = fs::canonical(where.dli_fname, error);
    return error ? where.dli_fname : path.string();
}

// A library and its function that returns the version, found by name because the library may be missing.
struct Question {
    const char* name;
    const char* file;  // to load; null: the program is linked with it
    const char* function;
    std::function<std::string(void*)> ask;
};

std::string packed_version(int version, int major, int minor) {  // 12080 -> "12.8"
    return fmt::format("{}.{}", version / major, version % major / minor);
}

std::string ask_hdf5(void* function) {
    unsigned major = 0, minor = 0, release = 0;
    reinterpret_cast<int (*)(unsigned*, unsigned*, unsigned*)>(function)(&major, &minor, &release);
    return fmt::format("{}.{}.{}", major, minor, release);
}

std::string ask_ucx(void* function) {
    unsigned major = 0, minor = 0, release = 0;
    reinterpret_cast<void (*)(unsigned*, unsigned*, unsigned*)>(function)(&major, &minor, &release);
    return fmt::format("{}.{}.{}", major, minor, release);
}

std::string ask_nccl(void* function) {
    int version = 0;
    if (reinterpret_cast<int (*)(int*)>(function)(&version) != 0) return "";
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string ask_cuda_driver(void* function) {
    int version = 0;
    if (reinterpret_cast<int (*)(int*)>(function)(&version) != 0) return "";
    return packed_version(version, 1000, 10);
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 ..."
std::string nvidia_driver() {
    std::istringstream words(first_line("/proc/driver/nvidia/version"));
    for (std::string word; words >> word;)
        if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos)
            return word;
    return "";
}

}  // namespace

std::vector<HostInterface> host_interfaces() {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) all = nullptr;
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, freeifaddrs);
    std::vector<HostInterface> out;
    for (const NetworkInterface& each : network_interfaces()) {
        const fs::path folder = fs::path("/sys/class/net") / each.name;
        HostInterface interface;
        interface.name = each.name;
        interface.is_virtual = each.is_virtual;
        interface.gb_per_s = each.gb_per_s;
        interface.mtu = std::atoi(first_line(folder / "mtu").c_str());
        interface.half_duplex = first_line(folder / "duplex") == "half";
        interface.addresses = addresses_of(each.name, all);
        out.push_back(interface);
    }
    return out;
}

std::vector<HostRdmaPort> rdma_ports(const fs::path& sys) {
    std::vector<HostRdmaPort> out;
    for (const fs::path& device : sorted_entries(sys / "class/infiniband")) {
        for (const fs::path& port : sorted_entries(device / "ports")) {
            const std::string state = first_line(port / "state");  // "4: ACTIVE"
            out.push_back({device.filename(), std::atoi(port.filename().c_str()),
                           state.substr(std::min(state.find_first_not_of("0123456789: "), state.size())),
                           std::atof(first_line(port / "rate").c_str())});  // "100 Gb/sec (4X EDR)"
        }
    }
    return out;
}

void describe_hardware(HostReport& report) {
    report.cores = physical_cores();
    report.memory_bytes = static_cast<std::int64_t>(physical_memory());
    for (int index = 0; index < device_count(); ++index) {
        const DeviceInfo info = device_info(index);
        report.gpus.push_back({info.name, info.memory_bytes});
    }
    report.gpus_on_bus = nvidia_gpus_on_bus();
    report.interfaces = host_interfaces();
    report.rdma_ports = rdma_ports();
}

std::vector<LibraryInUse> libraries_in_use() {
    const MpiLibrary mpi = mpi_library();
    std::vector<LibraryInUse> found{{mpi.name, mpi.version, mpi.path}};
    const std::vector<Question> questions{
        {"HDF5", nullptr, "H5get_libversion", ask_hdf5},
        {"UCX", "libucp.so.0", "ucp_get_version", ask_ucx},
        {"NCCL", "libnccl.so.2", "ncclGetVersion", ask_nccl},
        {"CUDA driver", "libcuda.so.1", "cuDriverGetVersion", ask_cuda_driver},
    };
    for (const Question& question : questions) {
        void* library = question.file ? dlopen(question.file, RTLD_LAZY | RTLD_LOCAL) : RTLD_DEFAULT;
        if (question.file && !library) continue;
        if (void* function = dlsym(library, question.function))
            if (const std::string version = question.ask(function); !version.empty())
                found.push_back({question.name, version, real_path(function)});
    }
    if (const std::string version = nvidia_driver(); !version.empty())
        found.push_back({"NVIDIA driver", version, "/proc/driver/nvidia/version"});
    return found;
}

}  // namespace voltpile
