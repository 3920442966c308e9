// MPI for the life of the process: alone (one rank), under mpirun or under srun.
#pragma once

#include "comm/mpi/communicator.h"

namespace voltpile {

class MpiSession {
  public:
    // Throws CommError if MPI cannot start.
    MpiSession(int& argc, char**& argv);
    ~MpiSession();  // collective unless abort() was called
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    const Communicator& world() const { return world_; }

    // Ends every rank of the job at once, whatever they are doing; does not return. Alone it just exits.
    [[noreturn]] void abort(int exit_code) const;

  private:
    Communicator world_;
};

}  // namespace voltpile
