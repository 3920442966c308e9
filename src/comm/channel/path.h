// Chooses the path that data takes between two ranks, and says why, from what UCX and the host of each rank
// can do. Pure.
#pragma once

#include <string>
#include <vector>

#include "comm/network.h"

namespace voltpile {

// What one rank tells the others.
struct ChannelMember {
    int rank = 0;
    std::string host;
    std::string ucx;  // version
    bool has_gpu = false;
    bool stages = false;    // its user wants GPU buffers staged
    bool ucx_cuda = false;  // its UCX supports GPU memory
    std::string tls;        // its UCX_TLS, empty if unset
    bool cuda_ipc = false;  // its UCX reads other processes' GPU memory
    bool rdma = false;      // its UCX has an RDMA device it may use
    bool gpu_rdma = false;  // its kernel lets RDMA devices access GPU memory
};

std::string to_text(const ChannelMember& member);
ChannelMember channel_member_from(const std::string& text);  // throws CommError for other text

// "rank 3 on node2".
std::string name_of(const ChannelMember& member);

struct GpuPath {
    bool staged = false;  // GPU buffers go through pinned memory, at both ends and in pieces
    bool rdma = false;    // network cards write into GPU memory
    std::string text;  // "GPU buffers staged through pinned memory: UCX 1.13.1 of rank 0 has no CUDA support"
};

// The same at both ends: symmetric in staged and rdma.
GpuPath gpu_path(const ChannelMember& self, const ChannelMember& peer);

// Returns the transports with their devices as UCX's descriptions of contexts and endpoints name them
// ("tcp/eth0"), each once, in order.
std::vector<std::string> transports_in(const std::string& description);

// Returns the value for UCX_NET_DEVICES that excludes the interfaces of containers and virtual machines,
// which have the same address on every host. If empty, UCX may choose from all of them.
std::string usable_net_devices(const std::vector<NetworkInterface>& interfaces,
                               const std::vector<RdmaPort>& ports);

}  // namespace voltpile
