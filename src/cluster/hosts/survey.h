// Surveys all hosts concurrently.
#pragma once

#include <span>
#include <string>

#include "cluster/hosts/host_file.h"
#include "cluster/hosts/sessions.h"
#include "cluster/hosts/visit.h"

namespace voltpile {

struct SurveyOptions {
    std::string program;  // absolute path of this program, the same on every host
    std::string folder;   // absolute path of the folder to test on every host
    ProgressListener progress;
};

// Takes at most about half a minute and always removes its processes and files. The local host takes part
// even if it is not listed: mpirun runs there, and all hosts must reach it. Throws MachineError if ssh is not
// installed.
HostSurvey survey_hosts(std::span<const HostEntry> entries, const SurveyOptions& options);

}  // namespace voltpile
