// `voltpile cancel`: stops a job so that the same command can go on with it later.
#pragma once

#include <string>

namespace voltpile {

// subject: a job of Slurm's ("12", "12_3"), or a result file, finished or not. Jobs in Slurm's queue are
// ended by scancel. Otherwise the run that holds the lock of the result's part folder gets SIGUSR1, if it
// runs on this host; it commits what it has computed and ends. Waits until it has ended, at most half a
// minute. Returns what has been done, for the terminal. Throws JobError if there is no such job or nobody
// writes the result; MachineError if the run is out of reach from this host, or Slurm does not answer.
std::string cancel(const std::string& subject);

}  // namespace voltpile
