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

class MappedArea final : public PeerArea {
  public:
    MappedArea(std::unique_ptr<PeerMapping> mapping, const PeerMemory& memory)
        : mapping_(std::move(mapping)), memory_(memory) {
        view = memory.view();
        own = mapping_->own();
        for (int p = 1; p < view.size; ++p) peer[p - 1] = mapping_->peer(p);
    }
    ~MappedArea() override {
        if (memory_.aborted()) mapping_->lose_peers();
    }
    MappedArea(const MappedArea&) = delete;
    MappedArea& operator=(const MappedArea&) = delete;

  private:
    std::unique_ptr<PeerMapping> mapping_;
    const PeerMemory& memory_;
};

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

    auto mailboxes = PeerMapping::map(group, mailbox_bytes(group.size()), why_not);
    if (!mailboxes) return nullptr;
    std::unique_ptr<PeerMemory> memory(new PeerMemory(group, std::move(mailboxes), first_call));
    memory->over_nvlink_ = over_nvlink;
    return memory;
}

PeerMemory::PeerMemory(const Communicator& group, std::unique_ptr<PeerMapping> mailboxes,
                       std::uint64_t first_call)
    : group_(group), mailboxes_(std::move(mailboxes)), host_(2) {
    std::memset(host_.data(), 0, host_.bytes());
    view_.own = mailboxes_->own();
    for (int p = 1; p < group.size(); ++p) view_.peer[p - 1] = mailboxes_->peer(p);
    view_.stall = host_.data();
    view_.abort = reinterpret_cast<const int*>(host_.data() + 1);
    view_.rank = group.rank();
    view_.size = group.size();
    // Only this rank writes its epochs. A peer may have begun to write flags and slots.
    std::uint64_t epochs[max_peer_blocks];
    for (std::uint64_t& epoch : epochs) epoch = first_call;
    cuda_check(
        cudaMemcpy(view_.own + offsetof(MailboxHeader, epoch), epochs, sizeof epochs, cudaMemcpyDefault),
        "setting up the mailbox");
    cuda_check(cudaDeviceSynchronize(), "setting up the mailbox");
}

PeerMemory::~PeerMemory() {
    if (aborted()) mailboxes_->lose_peers();
}

std::unique_ptr<PeerArea> PeerMemory::share(std::size_t bytes) const {
    std::string why_not;
    auto mapping = PeerMapping::map(group_, bytes, why_not);
    return mapping ? std::make_unique<MappedArea>(std::move(mapping), *this) : nullptr;
}

}  // namespace voltpile

#endif
