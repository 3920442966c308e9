// GPU memory of every rank of a group, mapped into the processes of all by CUDA IPC.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "comm/collective/peer_layout.h"
#include "comm/mpi/communicator.h"
#include "device/buffer.h"

namespace voltpile {

// Returns on all ranks the problem of the first rank that has one, or an empty text. Collective.
std::string agreed_problem(const Communicator& group, const std::string& mine);

class PeerMapping {
  public:
    // Collective: every rank calls. Allocates `bytes` zeroed bytes on the GPU in use. Returns null on all
    // ranks if the memory cannot be mapped; why_not then says why.
    static std::unique_ptr<PeerMapping> map(const Communicator& group, std::size_t bytes,
                                            std::string& why_not);

    // Collective: every rank destroys, with its streams idle.
    ~PeerMapping();
    PeerMapping(const PeerMapping&) = delete;
    PeerMapping& operator=(const PeerMapping&) = delete;

    char* own() { return own_.data(); }
    char* peer(int p) const { return peers_[static_cast<std::size_t>(p) - 1]; }  // of rank (rank + p) % size

    // The destructor then does not wait for the others.
    void lose_peers() { waits_ = false; }

  private:
    PeerMapping(const Communicator& group, std::size_t bytes);
    bool open(std::string& why_not);

    Communicator group_;
    DeviceBuffer<char> own_;
    std::array<char*, max_peers - 1> peers_{};
    bool waits_ = true;
};

}  // namespace voltpile
