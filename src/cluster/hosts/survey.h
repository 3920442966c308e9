// Goes to all hosts at the same time and asks each the same questions.
#pragma once

#include <span>
#include <string>

#include "cluster/hosts/host_file.h"
#include "cluster/hosts/sessions.h"
#include "cluster/hosts/visit.h"

namespace voltpile {

struct SurveyOptions {
    std::string program;  // absolute path of this program, which is to be the same on every host
    std::string folder;   // absolute path, tried on every host
    ProgressListener progress;
};

// Takes half a minute at the worst, and leaves nothing running and no file behind, however it ends. The host
// that asks takes part, in the list or not: mpirun runs there, and all must reach it. Throws MachineError
// where there is no ssh.
HostSurvey survey_hosts(std::span<const HostEntry> entries, const SurveyOptions& options);

}  // namespace voltpile
