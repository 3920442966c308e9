#include "comm/mpi/session.h"

#include <cstdio>
#include <cstdlib>

#include "base/error.h"

namespace voltpile {
namespace {

// Started by hand: Open MPI would then start a daemon of its own, which only MPI_Comm_spawn needs.
void need_no_daemon_alone() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_STEP_ID"})
        if (std::getenv(name)) return;
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
}

MPI_Comm start(int& argc, char**& argv) {
    need_no_daemon_alone();
    int provided = MPI_THREAD_SINGLE;
    // Collectives of GPUs by way of the host have a thread of their own; all else is called by the main
    // thread.
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
        throw CommError("MPI_Init_thread failed");
    if (provided < MPI_THREAD_FUNNELED)
        throw CommError("this MPI does not support threads (MPI_THREAD_FUNNELED)");
    return MPI_COMM_WORLD;
}

}  // namespace

MpiSession::MpiSession(int& argc, char**& argv) : world_(start(argc, argv)) {}

MpiSession::~MpiSession() {
    MPI_Finalize();
}

void MpiSession::abort(int exit_code) const {
    std::fflush(nullptr);
    if (world_.size() > 1) MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
}

}  // namespace voltpile
