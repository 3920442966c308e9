#include "comm/channel/path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"

namespace voltpile {
namespace {

constexpr const char* magic = "voltpile-channel-member";

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}
std::string from_dash(const std::string& text) {
    return text == "-" ? "" : text;
}

std::string without_cuda(const ChannelMember& member) {
    if (!member.tls.empty())
        return fmt::format("UCX {} of rank {} has no CUDA support with UCX_TLS={}", member.ucx, member.rank,
                           member.tls);
    return fmt::format("UCX {} of rank {} has no CUDA support", member.ucx, member.rank);
}

}  // namespace

std::string to_text(const ChannelMember& m) {
    return fmt::format("{} {} {} {} {:d} {:d} {:d} {} {:d} {:d} {:d}", magic, m.rank, or_dash(m.host),
                       or_dash(m.ucx), m.has_gpu, m.stages, m.ucx_cuda, or_dash(m.tls), m.cuda_ipc, m.rdma,
                       m.gpu_rdma);
}

ChannelMember channel_member_from(const std::string& text) {
    std::istringstream in(text);
    ChannelMember m;
    std::string start;
    in >> start >> m.rank >> m.host >> m.ucx >> m.has_gpu >> m.stages >> m.ucx_cuda >> m.tls >> m.cuda_ipc >>
        m.rdma >> m.gpu_rdma;
    if (!in || start != magic) throw CommError("setting up channels: a rank sent a malformed description");
    m.host = from_dash(m.host);
    m.ucx = from_dash(m.ucx);
    m.tls = from_dash(m.tls);
    return m;
}

std::string name_of(const ChannelMember& member) {
    return fmt::format("rank {} on {}", member.rank, member.host);
}

GpuPath gpu_path(const ChannelMember& self, const ChannelMember& peer) {
    if (!self.has_gpu && !peer.has_gpu) return {false, false, "no GPU buffers"};
    const auto staged = [](const std::string& why) {
        return GpuPath{true, false, "GPU buffers staged through pinned memory: " + why};
    };
    for (const ChannelMember& each : {self, peer})
        if (each.stages) return staged(fmt::format("rank {} was told to", each.rank));
    for (const ChannelMember& each : {self, peer})
        if (each.has_gpu && !each.ucx_cuda) return staged(without_cuda(each));
    if (!self.has_gpu || !peer.has_gpu) return {false, false, "GPU buffers of one side by UCX"};
    if (self.host == peer.host) {
        for (const ChannelMember& each : {self, peer})
            if (!each.cuda_ipc) return staged(fmt::format("UCX of rank {} has no cuda_ipc", each.rank));
        return {false, false, "GPU buffers by cuda_ipc"};
    }
    for (const ChannelMember& each : {self, peer})
        if (!each.rdma) return staged(fmt::format("UCX of {} has no RDMA device", name_of(each)));
    for (const ChannelMember& each : {self, peer})
        if (!each.gpu_rdma) return staged(fmt::format("no nvidia_peermem and no dma-buf on {}", each.host));
    return {false, true, "GPU buffers by GPUDirect RDMA"};
}

std::vector<std::string> transports_in(const std::string& description) {
    // Lines of an endpoint:  "#   lane[0]:  0:tcp/eth0.0 md[0]  -> addr[0].md[0]/tcp/sysdev[255] am ..."
    // and of a context:      "#   resource 0  :  md 0  dev 0  flags -- tcp/eth0"
    std::vector<std::string> found;
    std::istringstream lines(description);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line.substr(0, line.find("->")));
        const bool lane = line.find("lane[") != std::string::npos;
        const bool resource = line.find("resource ") != std::string::npos;
        if (!lane && !resource) continue;
        for (std::string word; words >> word;) {
            if (word.find('/') == std::string::npos) continue;
            if (lane) {
                word.erase(0, word.rfind(':', word.find('/')) + 1);   // the device has a colon too: mlx5_0:1
                word.resize(std::min(word.size(), word.rfind('.')));  // the number of the path
            }
            if (std::find(found.begin(), found.end(), word) == found.end()) found.push_back(word);
            break;
        }
    }
    return found;
}

std::string usable_net_devices(const std::vector<NetworkInterface>& interfaces,
                               const std::vector<RdmaPort>& ports) {
    std::vector<std::string> usable;
    bool leaves_out = false;
    for (const RdmaPort& port : ports) usable.push_back(fmt::format("{}:{}", port.device, port.port));
    for (const NetworkInterface& each : interfaces) {
        if (each.is_virtual)
            leaves_out = true;
        else
            usable.push_back(each.name);
    }
    if (!leaves_out || usable.empty()) return "";
    return fmt::format("{}", fmt::join(usable, ","));
}

}  // namespace voltpile
