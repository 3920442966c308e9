// What a survey learned about each host: plain data, the input of cluster/hosts/findings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/hosts/network.h"
#include "cluster/hosts/report.h"

namespace voltpile {

// How far the access to a host got.
enum class Access {
    Answered,
    NameUnknown,
    Unreachable,
    Refused,
    KeyNotAccepted,
    HostKeyUnknown,
    HostKeyChanged,
    SshFailed,  // for another reason
    NoAnswer,   // ssh got through, but no answer came in time
    ProgramMissing,
    ProgramNotExecutable,
    ProgramFails,  // did not start, or ended before it answered
};

// What a shell on the host reports without the program.
struct RemoteShell {
    bool reached = false;
    std::string mpirun, orted;         // their paths; empty: not in PATH
    std::string mpirun_version;        // first line of `mpirun --version`
    std::vector<std::string> chatter;  // lines that login scripts printed
};

struct HostVisit {
    std::string name;    // as in the host file
    bool here = false;   // the local host
    bool listed = true;  // in the host file; the local host need not be
    int slots = 0;       // 0: not given

    Access access = Access::Unreachable;
    std::string access_error;  // message of ssh or of the program
    RemoteShell shell;
    std::optional<HostReport> report;
    double clock_offset_s = 0;       // its clock minus the local clock
    double clock_uncertainty_s = 0;  // half a round trip
    bool folder_seen_here = false;   // the local host sees the file that it wrote
    std::vector<PortAttempt> connections;
};

struct HostSurvey {
    std::string program;  // absolute path, the same on all hosts
    std::string folder;
    std::vector<HostVisit> visits;

    const HostVisit* here() const {
        for (const HostVisit& visit : visits)
            if (visit.here) return &visit;
        return nullptr;
    }
};

}  // namespace voltpile
