// Collects findings. Only findings*.cpp and report_text.cpp include this.
#pragma once

#include <string>
#include <vector>

#include "cluster/hosts/findings.h"

namespace voltpile {

class FindingList {
  public:
    // Adds a finding. fix: "%H" stands for the names of all its hosts, "%h" for each of them in a command
    // that is run once for each host.
    void must_fix(const std::string& host, const std::string& what, const std::string& fix);
    void remark(const std::string& host, const std::string& what, const std::string& fix = "");

    // Returns the findings, those that must be fixed first, and empties the list. order: all hosts.
    std::vector<Finding> take(const std::vector<std::string>& order);

  private:
    void add(bool must_fix, const std::string& host, const std::string& what, const std::string& fix);
    std::vector<Finding> findings_;
};

// Returns the host that all others are compared with: the local one, else the first with a report; else null.
const HostVisit* reference_host(const HostSurvey& survey);

// Returns the version of a library, or "" if the host lacks it.
std::string library_version(const HostReport& report, const std::string& name);

// Returns the interface with the address, or null.
const HostInterface* interface_of(const HostReport& report, const std::string& address);

// Returns an address by which other hosts reach this one, or "".
std::string address_of(const HostVisit& visit, const HostSurvey& survey);

// Each adds the findings about one aspect.
void judge_access(const HostSurvey& survey, FindingList& list);
void judge_software(const HostSurvey& survey, FindingList& list);
void judge_names(const HostSurvey& survey, FindingList& list);
void judge_connections(const HostSurvey& survey, FindingList& list);
void judge_network_cards(const HostSurvey& survey, FindingList& list);
void judge_folder(const HostSurvey& survey, FindingList& list);
void judge_clocks(const HostSurvey& survey, FindingList& list);
void judge_hardware(const HostSurvey& survey, FindingList& list);

}  // namespace voltpile
