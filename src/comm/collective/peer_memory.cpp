#include "comm/collective/peer_memory.h"

#if VOLTPILE_CUDA

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/host_name.h"
#include "device/check.h"
#include "device/device.h"

namespace voltpile {
namespace {

// Returns the first rank's problem on all ranks, empty if there is none.
std::string agreed_problem(const Communicator& group, const std::string& mine) {
    for (const std::string& each : group.all_gather(mine))
        if (!each.empty()) return each;
    return "";
}

// Returns what keeps this rank's GPU from reaching its peers; sets over_nvlink.
std::string access_problem(int device, const std::vector<std::string>& pci_bus_ids, int rank,
                           bool& over_nvlink) {
    over_nvlink = true;
    for (std::size_t r = 0; r < pci_bus_ids.size(); ++r) {
        if (static_cast<int>(r) == rank || pci_bus_ids[r] == pci_bus_ids[static_cast<std::size_t>(rank)])
            continue;
        int peer = -1;
        if (cudaDeviceGetByPCIBusId(&peer, pci_bus_ids[r].c_str()) != cudaSuccess) {
            cudaGetLastError();
            return fmt::format("rank {} does not see GPU {} of rank {}", rank, pci_bus_ids[r], r);
        }
        int can = 0;
        cuda_check(cudaDeviceCanAccessPeer(&can, device, peer), "asking for access to a peer");
        if (!can) return fmt::format("the GPUs of ranks {} and {} do not reach each other", rank, r);
        int atomics = 0;  // NVLink has them, PCIe does not
        cuda_check(cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, device, peer),
                   "asking for the link to a peer");
        over_nvlink = over_nvlink && atomics;
    }
    return "";
}

}  // namespace

std::unique_ptr<PeerMemory> PeerMemory::map(const Communicator& group, int device, std::string& why_not,
                                            std::uint64_t first_call) {
    why_not.clear();
    const auto hosts = group.all_gather(host_identity());
    const auto pci_bus_ids = group.all_gather(device_info(device).pci_bus_id);
    for (const std::string& host : hosts)
        if (host != hosts[0]) why_not = "the ranks are on different hosts";
    if (group.size() > max_peers) why_not = fmt::format("more than {} ranks", max_peers);
    if (!why_not.empty()) return nullptr;

    bool over_nvlink = true;
    std::string problem = access_problem(device, pci_bus_ids, group.rank(), over_nvlink);
    why_not = agreed_problem(group, problem);
    if (!why_not.empty()) return nullptr;
    over_nvlink = agreed_problem(group, over_nvlink ? "" : "PCIe").empty();

    std::unique_ptr<PeerMemory> memory(new PeerMemory(group, first_call));
    memory->over_nvlink_ = over_nvlink;
    if (!memory->open(group, why_not)) return nullptr;
    return memory;
}

PeerMemory::PeerMemory(const Communicator& group, std::uint64_t first_call)
    : group_(group), own_(mailbox_bytes(group.size())), host_(2) {
    std::memset(host_.data(), 0, host_.bytes());
    cuda_check(cudaMemset(own_.data(), 0, own_.bytes()), "clearing the mailbox");
    std::uint64_t epochs[max_peer_blocks];
    for (std::uint64_t& epoch : epochs) epoch = first_call;
    cuda_check(
        cudaMemcpy(own_.data() + offsetof(MailboxHeader, epoch), epochs, sizeof epochs, cudaMemcpyDefault),
        "setting up the mailbox");
    cuda_check(cudaDeviceSynchronize(), "setting up the mailbox");  // peers may write from now on
    view_.own = own_.data();
    view_.stall = host_.data();
    view_.abort = reinterpret_cast<const int*>(host_.data() + 1);
    view_.rank = group.rank();
    view_.size = group.size();
}

bool PeerMemory::open(const Communicator& group, std::string& why_not) {
    cudaIpcMemHandle_t handle{};
    const cudaError_t exported = cudaIpcGetMemHandle(&handle, own_.data());
    cudaGetLastError();
    std::string mine;
    if (exported == cudaSuccess) mine.assign(reinterpret_cast<const char*>(&handle), sizeof handle);
    const auto handles = group.all_gather(mine);
    std::string problem;
    for (int p = 1; p < view_.size && problem.empty(); ++p) {
        const std::string& theirs = handles[static_cast<std::size_t>((view_.rank + p) % view_.size)];
        void* mapped = nullptr;
        cudaError_t error = cudaErrorNotSupported;
        if (theirs.size() == sizeof handle) {
            std::memcpy(&handle, theirs.data(), sizeof handle);
            error = cudaIpcOpenMemHandle(&mapped, handle, cudaIpcMemLazyEnablePeerAccess);
            cudaGetLastError();
        }
        if (error == cudaSuccess)
            view_.peer[p - 1] = static_cast<char*>(mapped);
        else
            problem = fmt::format("rank {} cannot map the memory of rank {}: {}", view_.rank,
                                  (view_.rank + p) % view_.size, cudaGetErrorString(error));
    }
    why_not = agreed_problem(group, problem);
    return why_not.empty();
}

PeerMemory::~PeerMemory() {
    for (char* mapped : view_.peer)
        if (mapped) cudaIpcCloseMemHandle(mapped);
    // Memory must not be freed while a peer has it mapped. A peer that is gone has not.
    constexpr double patience_s = 5;
    try {
        if (*abort_flag() == 0) group_.barrier(patience_s);
    } catch (const Error&) {
    }
}

}  // namespace voltpile

#endif
