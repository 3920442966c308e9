// Memory that the ranks of a host share.
#pragma once

#include <cstddef>

#include "comm/mpi/communicator.h"

namespace voltpile {

class HostMemory {
  public:
    // Collective: every rank calls. Begins with zeros. Ranks that cannot reach the memory of their host's
    // first rank (other containers) get some of their own. name: for people who look into /proc.
    HostMemory(const Communicator& group, const char* name, std::size_t bytes);
    ~HostMemory();
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;

    // Aligned as a page. Valid as long as this object, on every rank by itself. Shared objects in it must be
    // atomic and free of locks.
    void* get() const noexcept { return at_; }

    bool leads() const noexcept { return leads_; }  // this rank is the host's first of the group

  private:
    void* at_ = nullptr;
    std::size_t bytes_;
    bool leads_ = false;
};

}  // namespace voltpile
