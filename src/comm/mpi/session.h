// MPI for the life of the process: alone (one rank), under mpirun or under srun.
#pragma once

#include "comm/mpi/communicator.h"

namespace voltpile {

class MpiSession {
  public:
    // Starts MPI at MPI_THREAD_MULTIPLE; communicator.h says which thread may call it. Throws CommError if
    // MPI cannot start, MachineError on all ranks if it supports only a lower thread level.
    MpiSession(int& argc, char**& argv);
    ~MpiSession();  // collective unless abort() was called
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    const Communicator& world() const { return world_; }

    // Ends every rank of the job at once; does not return. A single rank just exits. Any thread may
    // call it.
    [[noreturn]] void abort(int exit_code) const;

  private:
    Communicator world_;
};

}  // namespace voltpile
