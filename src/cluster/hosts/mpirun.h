// The settings that Open MPI's mpirun needs on clusters of unreliable nodes, in one place.
#pragma once

#include <span>
#include <string>

#include "base/process.h"
#include "cluster/hosts/host_file.h"
#include "results/parts/durable_file.h"

namespace voltpile {

struct MpirunUse {
    bool ranks_share_cores = false;  // more ranks than cores: a rank that waits lets the others run
};

// Returns environment variables for mpirun of Open MPI 4 (OMPI_*) and 5 (PRTE_*). It notices a cut link
// within seconds, leaves it to the ranks to bind their threads, and lets root start jobs.
Environment mpirun_settings(const MpirunUse& use);

// A host file for mpirun. It is in memory so that nothing remains if this process is killed; mpirun, on the
// same host as the same user, opens it under /proc.
class MpirunHosts {
  public:
    // hosts: with their slots. Throws FileError.
    explicit MpirunHosts(std::span<const HostEntry> hosts);

    std::string path() const;

  private:
    FileDescriptor fd_;
};

}  // namespace voltpile
