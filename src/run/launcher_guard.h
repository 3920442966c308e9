// Ends an mpirun that waits for a node it can no longer reach.
#pragma once

#include <chrono>

namespace voltpile {

// True for a program that mpirun has started on several hosts by itself, without Slurm.
bool mpirun_spans_hosts();

// Starts a process that waits for this process's mpirun to end. If it has not within `grace`, the process
// says so on mpirun's stderr, ends mpirun by two SIGTERM (the second makes it leave its nodes alone) and at
// last by SIGKILL, and kills the caller, which may hang in MPI_Finalize. Does nothing if mpirun runs on
// another host.
void end_launcher_after(std::chrono::seconds grace) noexcept;

}  // namespace voltpile
