#include "comm/mpi/session.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "comm/mpi/launch_check.h"
#include "comm/mpi/library.h"

namespace voltpile {
namespace {

bool started_by_hand() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_STEP_ID"})
        if (std::getenv(name)) return false;
    return true;
}

const char* thread_level_name(int level) {
    switch (level) {
        case MPI_THREAD_SINGLE:
            return "MPI_THREAD_SINGLE";
        case MPI_THREAD_FUNNELED:
            return "MPI_THREAD_FUNNELED";
        default:
            return "MPI_THREAD_SERIALIZED";
    }
}

MPI_Comm start(int& argc, char**& argv) {
    if (started_by_hand()) set_up_alone();
    int provided = MPI_THREAD_SINGLE;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
        throw CommError("MPI_Init_thread failed");
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        throw MachineError(
            fmt::format("{} provides only {}, but Voltpile calls MPI from several threads: use an MPI that "
                        "supports MPI_THREAD_MULTIPLE (ompi_info | grep MPI_THREAD_MULTIPLE shows it)",
                        mpi_library().path, thread_level_name(provided)));
    }
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
