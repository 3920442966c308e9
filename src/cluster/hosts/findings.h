// Findings: what is wrong with a cluster, derived from a survey of its hosts. Pure: contacts no host.
#pragma once

#include <string>
#include <vector>

#include "cluster/hosts/links.h"
#include "cluster/hosts/visit.h"

namespace voltpile {

struct Finding {
    bool must_fix = true;  // false: worth knowing
    std::vector<std::string>
        hosts;         // the hosts concerned, in the order of the host file; empty: all together
    std::string what;  // "the clock is 3.20 s ahead of that of this host"
    std::string fix;   // what to do, with the command to run; may be empty
};

// Returns all findings except those about links, must-fix findings first. Merges equal findings of several
// hosts.
std::vector<Finding> judge_hosts(const HostSurvey& survey);

// Returns the findings about measured links. survey: of the same hosts.
std::vector<Finding> judge_links(const LinkSurvey& links, const HostSurvey& survey);

// Returns "node1, node2", or for many hosts "node1, node2, node3, node4, node5 and 35 more".
std::string host_list(const std::vector<std::string>& hosts);

bool any_must_fix(const std::vector<Finding>& findings);

// Returns the MPI of an mpirun: "mpirun (Open MPI) 4.1.4" -> "Open MPI 4.1.4"; "HYDRA build details:" ->
// "MPICH".
std::string mpi_of(const std::string& mpirun_version);

}  // namespace voltpile
