// `voltpile launch`: runs a job on nodes that may fail, until it is done.
#pragma once

#include <span>
#include <string>

#include "run/runner.h"

namespace voltpile {

struct LaunchRequest {
    RunOptions run;
    std::string hosts_file, host_list;  // at most one; none: the Slurm allocation, or this host
    int ranks = 0;     // on each node; 0: the host file's slots, Slurm's tasks, or one for each GPU
    int patience = 3;  // attempts in a row without progress
};

// Prints a line for each attempt and a summary. Returns Done, Stopped, BadInput, CannotRun (no usable node,
// or the nodes cannot run the job) or Failed (too many attempts without progress). Throws Error before
// anything has started.
ExitCode launch(const LaunchRequest& request, std::span<const AppEntry> apps);

}  // namespace voltpile
