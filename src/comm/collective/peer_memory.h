// The mailboxes of a group whose GPUs reach each other's memory, mapped into this process by CUDA IPC.
#pragma once

#include <memory>
#include <string>

#include "comm/collective/peer_area.h"
#include "comm/collective/peer_mapping.h"

namespace voltpile {

class PeerMemory {
  public:
    // Collective: every rank calls. Returns null on all ranks if the group cannot do this; why_not then says
    // why. device: this rank's GPU, in use by this thread. first_call: the number of the first call, for
    // tests beyond 2^31 calls.
    static std::unique_ptr<PeerMemory> map(const Communicator& group, int device, std::string& why_not,
                                           std::uint64_t first_call = 0);

    // Collective: every rank destroys, with its streams idle.
    ~PeerMemory();
    PeerMemory(const PeerMemory&) = delete;
    PeerMemory& operator=(const PeerMemory&) = delete;

    const PeerView& view() const { return view_; }
    bool over_nvlink() const { return over_nvlink_; }  // true for all pairs of the group

    // Collective: every rank calls. Returns null on all ranks if the memory cannot be mapped.
    std::unique_ptr<PeerArea> share(std::size_t bytes) const;

    // Makes waiting kernels end, for good.
    void abort() noexcept { *abort_flag() = 1; }
    bool aborted() const { return *reinterpret_cast<const volatile int*>(host_.data() + 1) != 0; }
    // The report as in peer_wait.cuh; 0 if none was made.
    unsigned long long stall() const {
        return *static_cast<const volatile unsigned long long*>(host_.data());
    }

  private:
    PeerMemory(const Communicator& group, std::unique_ptr<PeerMapping> mailboxes, std::uint64_t first_call);
    volatile int* abort_flag() { return reinterpret_cast<volatile int*>(host_.data() + 1); }

    Communicator group_;
    std::unique_ptr<PeerMapping> mailboxes_;
    PinnedBuffer<unsigned long long> host_;  // stall report, abort flag
    PeerView view_{};
    bool over_nvlink_ = false;
};

}  // namespace voltpile
