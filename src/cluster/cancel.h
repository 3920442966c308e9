// `voltpile cancel`: stops a job so that the same command can resume it later.
#pragma once

#include <string>

namespace voltpile {

// subject: a Slurm job ("12", "12_3"), a result file, finished or not, or the address file of a server. Ends
// jobs in Slurm's queue with scancel. Otherwise sends SIGUSR1 to the run that holds the lock of the result's
// part folder, if it is on this host; the run commits what it has computed and ends. Waits for its end, at
// most half a minute; does not wait for a server, which first finishes its requests. Returns what it did, for
// the terminal. Throws JobError if there is no such job or no run writes the result, and MachineError if the
// run is on another host or Slurm does not answer.
std::string cancel(const std::string& subject);

}  // namespace voltpile
