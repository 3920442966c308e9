#include "command/meeting_place.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

#include "base/error.h"
#include "comm/network.h"

namespace voltpile::command {
namespace {

struct FreeAddresses {
    void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

// The first IPv4 address of each interface.
std::map<std::string, std::string> addresses() {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return {};
    const std::unique_ptr<ifaddrs, FreeAddresses> owned(list);
    std::map<std::string, std::string> found;
    for (const ifaddrs* each = list; each; each = each->ifa_next) {
        if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET) continue;
        sockaddr_in address{};
        std::memcpy(&address, each->ifa_addr, sizeof address);
        char text[INET_ADDRSTRLEN] = "";
        if (inet_ntop(AF_INET, &address.sin_addr, text, sizeof text)) found.emplace(each->ifa_name, text);
    }
    return found;
}

struct OpenSocket {
    int fd = -1;
    ~OpenSocket() {
        if (fd >= 0) close(fd);
    }
};

}  // namespace

HostNetwork network_of_this_host(const std::string& preferred) {
    const std::map<std::string, std::string> known = addresses();
    if (const auto found = known.find(preferred); found != known.end()) return {found->first, found->second};
    std::vector<NetworkInterface> interfaces = network_interfaces();
    std::erase_if(interfaces, [&](const NetworkInterface& each) { return !known.contains(each.name); });
    std::ranges::stable_sort(interfaces, [](const NetworkInterface& a, const NetworkInterface& b) {
        return a.is_virtual != b.is_virtual ? b.is_virtual : a.gb_per_s > b.gb_per_s;
    });
    if (interfaces.empty()) return {"lo", "127.0.0.1"};
    return {interfaces.front().name, known.at(interfaces.front().name)};
}

int free_port() {
    OpenSocket own{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t size = sizeof address;
    auto* const general = reinterpret_cast<sockaddr*>(&address);
    if (own.fd < 0 || bind(own.fd, general, size) != 0 || getsockname(own.fd, general, &size) != 0)
        throw MachineError(fmt::format("cannot find a free TCP port: {}", std::strerror(errno)));
    return ntohs(address.sin_port);
}

}  // namespace voltpile::command
