// What was learned of a host by going there: plain data, from which cluster/hosts/findings tells what is
// wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/hosts/network.h"
#include "cluster/hosts/report.h"

namespace voltpile {

// How far one got.
enum class Access {
    Answered,
    NameUnknown,
    Unreachable,
    Refused,
    KeyNotAccepted,
    HostKeyUnknown,
    HostKeyChanged,
    SshFailed,  // for a reason of its own
    NoAnswer,   // ssh got through, and then nothing came in time
    ProgramMissing,
    ProgramNotExecutable,
    ProgramFails,  // it did not start, or ended before it had answered
};

// What a shell there says without the program.
struct RemoteShell {
    bool reached = false;
    std::string mpirun, orted;         // their paths; empty: not in PATH
    std::string mpirun_version;        // first line of `mpirun --version`
    std::vector<std::string> chatter;  // lines that login scripts have printed
};

struct HostVisit {
    std::string name;    // as in the host file
    bool here = false;   // the host that asks
    bool listed = true;  // in the host file; the host that asks need not be
    int slots = 0;       // 0: not said

    Access access = Access::Unreachable;
    std::string access_error;  // what ssh, or the program there, said
    RemoteShell shell;
    std::optional<HostReport> report;
    double clock_offset_s = 0;       // its clock minus that of the host that asks
    double clock_uncertainty_s = 0;  // half a round trip
    bool folder_seen_here = false;   // the file that it wrote there is seen by the host that asks
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
