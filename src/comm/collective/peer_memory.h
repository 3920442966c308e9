// The mailboxes of a group whose GPUs reach each other's memory, mapped into this process by CUDA IPC.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "comm/mpi/communicator.h"
#include "comm/collective/peer_layout.h"
#include "device/buffer.h"

namespace voltpile {

class PeerMemory {
  public:
    // Collective: every rank calls. Null, on all ranks, where the group cannot do this; why_not then says
    // why. device: this rank's GPU, in use by this thread. first_call: the number of the first call, for
    // tests of what happens after 2^31 calls.
    static std::unique_ptr<PeerMemory> map(const Communicator& group, int device, std::string& why_not,
                                           std::uint64_t first_call = 0);

    // Collective: every rank destroys, with its streams idle.
    ~PeerMemory();
    PeerMemory(const PeerMemory&) = delete;
    PeerMemory& operator=(const PeerMemory&) = delete;

    const PeerView& view() const { return view_; }
    bool over_nvlink() const { return over_nvlink_; }  // all pairs of the group

    // Makes kernels that wait end; for ever.
    void abort() noexcept { *abort_flag() = 1; }
    // As in peer_wait.cuh; 0: none was ever made.
    unsigned long long stall() const {
        return *static_cast<const volatile unsigned long long*>(host_.data());
    }

  private:
    PeerMemory(const Communicator& group, std::uint64_t first_call);
    bool open(const Communicator& group, std::string& why_not);
    volatile int* abort_flag() { return reinterpret_cast<volatile int*>(host_.data() + 1); }

    Communicator group_;
    DeviceBuffer<char> own_;
    PinnedBuffer<unsigned long long> host_;  // stall report, abort flag
    PeerView view_{};
    bool over_nvlink_ = false;
};

}  // namespace voltpile
