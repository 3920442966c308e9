#include "cluster/hosts/finding_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace voltpile {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

std::string filled_in(std::string fix, const std::vector<std::string>& hosts) {
    replace_all(fix, "%H", host_list(hosts));
    if (fix.find("%h") == std::string::npos) return fix;
    if (hosts.size() == 1) {
        replace_all(fix, "%h", hosts.front());
        return fix;
    }
    replace_all(fix, "%h", "$h");
    return fmt::format("for h in {}; do {}; done", fmt::join(hosts, " "), fix);
}

}  // namespace

void FindingList::must_fix(const std::string& host, const std::string& what, const std::string& fix) {
    add(true, host, what, fix);
}

void FindingList::remark(const std::string& host, const std::string& what, const std::string& fix) {
    add(false, host, what, fix);
}

void FindingList::add(bool must_fix, const std::string& host, const std::string& what,
                      const std::string& fix) {
    for (Finding& each : findings_) {
        if (each.must_fix != must_fix || each.what != what || each.fix != fix) continue;
        if (!host.empty() && std::ranges::find(each.hosts, host) == each.hosts.end())
            each.hosts.push_back(host);
        return;
    }
    findings_.push_back({must_fix, {}, what, fix});
    if (!host.empty()) findings_.back().hosts.push_back(host);
}

std::vector<Finding> FindingList::take(const std::vector<std::string>& order) {
    const auto place = [&](const std::string& host) {
        return std::ranges::find(order, host) - order.begin();
    };
    for (Finding& each : findings_) {
        std::ranges::stable_sort(each.hosts, {}, place);
        each.fix = filled_in(each.fix, each.hosts);
    }
    std::ranges::stable_partition(findings_, [](const Finding& each) { return each.must_fix; });
    return std::move(findings_);
}

const HostVisit* reference_host(const HostSurvey& survey) {
    if (const HostVisit* here = survey.here(); here && here->report) return here;
    for (const HostVisit& visit : survey.visits)
        if (visit.report) return &visit;
    return nullptr;
}

std::string library_version(const HostReport& report, const std::string& name) {
    for (const LibraryInUse& library : report.libraries)
        if (library.name == name) return library.version;
    return "";
}

const HostInterface* interface_of(const HostReport& report, const std::string& address) {
    for (const HostInterface& interface : report.interfaces)
        if (std::ranges::find(interface.addresses, address) != interface.addresses.end()) return &interface;
    return nullptr;
}

std::string address_of(const HostVisit& visit, const HostSurvey& survey) {
    if (!visit.report) return "";
    if (!visit.here)
        return interface_of(*visit.report, visit.report->reached_at) ? visit.report->reached_at : "";
    for (const HostVisit& other : survey.visits)
        if (other.report && interface_of(*visit.report, other.report->reached_from))
            return other.report->reached_from;
    return "";
}

}  // namespace voltpile
