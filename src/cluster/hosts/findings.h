// What is wrong with a cluster, told from what was learned of its hosts. Pure: no host is asked here.
#pragma once

#include <string>
#include <vector>

#include "cluster/hosts/links.h"
#include "cluster/hosts/visit.h"

namespace voltpile {

struct Finding {
    bool must_fix = true;            // else worth knowing
    std::vector<std::string> hosts;  // which it is about, in the order of the host file; empty: all together
    std::string what;                // "the clock is 3.20 s ahead of that of this host"
    std::string fix;                 // what to do about it, with the command to type; may be empty
};

// Everything but the links, the must-fix ones first. Equal findings on several hosts are one.
std::vector<Finding> judge_hosts(const HostSurvey& survey);

// survey: of the same hosts.
std::vector<Finding> judge_links(const LinkSurvey& links, const HostSurvey& survey);

// "node1, node2", or of many "node1, node2, node3, node4, node5 and 35 more".
std::string host_list(const std::vector<std::string>& hosts);

bool any_must_fix(const std::vector<Finding>& findings);

// "mpirun (Open MPI) 4.1.4" -> "Open MPI 4.1.4"; "HYDRA build details:" -> "MPICH"
std::string mpi_of(const std::string& mpirun_version);

}  // namespace voltpile
