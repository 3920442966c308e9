// Collects findings; for cluster/hosts/findings*.cpp only.
#pragma once

#include <string>
#include <vector>

#include "cluster/hosts/findings.h"

namespace voltpile {

class FindingList {
  public:
    // fix: "%H" stands for the hosts' names; "%h" for one of them, in a command that is to be given for each.
    void must_fix(const std::string& host, const std::string& what, const std::string& fix);
    void remark(const std::string& host, const std::string& what, const std::string& fix = "");

    // The finished findings, the must-fix ones first; `order`: all hosts.
    std::vector<Finding> take(const std::vector<std::string>& order);

  private:
    void add(bool must_fix, const std::string& host, const std::string& what, const std::string& fix);
    std::vector<Finding> findings_;
};

// The host that all are compared with: the one that asks, or the first of which there is a report. Null if
// there is none.
const HostVisit* reference_host(const HostSurvey& survey);

// Version of a library of the report; empty if it is not there.
std::string library_version(const HostReport& report, const std::string& name);

// The interface that has the address; null if none.
const HostInterface* interface_of(const HostReport& report, const std::string& address);

// An address under which the host is reached by others; empty if not known.
std::string address_of(const HostVisit& visit, const HostSurvey& survey);

// One aspect each.
void judge_access(const HostSurvey& survey, FindingList& list);
void judge_software(const HostSurvey& survey, FindingList& list);
void judge_names(const HostSurvey& survey, FindingList& list);
void judge_connections(const HostSurvey& survey, FindingList& list);
void judge_network_cards(const HostSurvey& survey, FindingList& list);
void judge_folder(const HostSurvey& survey, FindingList& list);
void judge_clocks(const HostSurvey& survey, FindingList& list);
void judge_hardware(const HostSurvey& survey, FindingList& list);

}  // namespace voltpile
