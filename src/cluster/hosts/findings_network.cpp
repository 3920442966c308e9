// Findings about host names, TCP connections and network cards.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "cluster/hosts/finding_list.h"
#include "cluster/hosts/network.h"

namespace voltpile {
namespace {

const HostVisit* visit_of(const HostSurvey& survey, const std::string& name) {
    for (const HostVisit& visit : survey.visits)
        if (visit.name == name) return &visit;
    return nullptr;
}

bool is_address(const std::string& name) {
    return name.find_first_not_of("0123456789.") == std::string::npos || name.find(':') != std::string::npos;
}

std::string hosts_line(const HostVisit& target, const HostSurvey& survey) {
    const std::string address = address_of(target, survey);
    return fmt::format("{} {}", address.empty() ? "ADDRESS" : address, target.name);
}

void judge_name(const HostVisit& from, const ResolvedName& name, const HostSurvey& survey,
                FindingList& list) {
    const HostVisit* target = visit_of(survey, name.name);
    if (!target || is_address(name.name) || name.name == "localhost") return;
    if (target->access == Access::NameUnknown) return;  // judge_access() reports it
    const std::string add =
        fmt::format("on %H: echo '{}' | sudo tee -a /etc/hosts", hosts_line(*target, survey));
    const std::string change = fmt::format("on %H: in /etc/hosts, let the line of {} be: {}", name.name,
                                           hosts_line(*target, survey));
    if (name.addresses.empty())
        return list.must_fix(from.name,
                             fmt::format("the name {} is unknown there ({})", name.name, name.error), add);
    const bool loops = std::ranges::all_of(name.addresses, is_loopback);
    if (loops && target == &from)
        // Debian's installer writes this. mpirun and MPI use the interfaces instead; other programs do not.
        return list.remark(
            from.name,
            fmt::format("the host's own name resolves to {}, which may confuse other software",
                        name.addresses.front()),
            "on %H: in /etc/hosts, map the host's own name to its address in the cluster, not to 127.0.1.1");
    if (loops)
        return list.must_fix(
            from.name,
            fmt::format("{} resolves to {}, which is the host itself", name.name, name.addresses.front()),
            change);
    if (!target->report) return;
    for (const std::string& address : name.addresses)
        if (!is_loopback(address) && interface_of(*target->report, address)) return;
    list.must_fix(from.name,
                  fmt::format("{} resolves to {}, but its address is {}", name.name, name.addresses.front(),
                              address_of(*target, survey)),
                  change);
}

// Guesses the cluster's network from an address: "10.0.0.0/24" for "10.0.0.7".
std::string network_of(const std::string& address) {
    const auto dot = address.rfind('.');
    return dot == std::string::npos ? address : address.substr(0, dot) + ".0/24";
}

std::string open_firewall(const std::string& address) {
    return fmt::format(
        "on %H: sudo ufw allow from {0}   (or: sudo firewall-cmd --permanent --zone=trusted "
        "--add-source={0} && sudo firewall-cmd --reload)",
        network_of(address));
}

// Returns the network card by which other hosts reach this one, or null.
const HostInterface* card_of(const HostVisit& visit, const HostSurvey& survey) {
    return visit.report ? interface_of(*visit.report, address_of(visit, survey)) : nullptr;
}

void judge_rdma(const HostVisit& visit, FindingList& list) {
    for (const HostRdmaPort& port : visit.report->rdma_ports) {
        if (port.state == "INIT")
            list.must_fix(visit.name,
                          fmt::format("{} port {} has a cable but no subnet manager", port.device, port.port),
                          "on one host of the network: sudo apt install opensm");
        else if (port.state != "ACTIVE")
            list.remark(visit.name, fmt::format("{} port {} is {}", port.device, port.port, port.state));
    }
}

}  // namespace

void judge_names(const HostSurvey& survey, FindingList& list) {
    for (const HostVisit& visit : survey.visits) {
        if (!visit.report) continue;
        for (const ResolvedName& name : visit.report->names) judge_name(visit, name, survey, list);
    }
    std::map<std::string, std::vector<const HostVisit*>> by_hostname;
    for (const HostVisit& visit : survey.visits)
        if (visit.report) by_hostname[visit.report->hostname].push_back(&visit);
    for (const auto& [hostname, visits] : by_hostname) {
        if (visits.size() < 2) continue;
        const std::string address = address_of(*visits[0], survey);
        const bool one_machine = !address.empty() && interface_of(*visits[1]->report, address);
        for (const HostVisit* visit : visits)
            list.must_fix(visit->name,
                          one_machine ? fmt::format("these names are the same machine, {}", hostname)
                                      : fmt::format("these hosts have the same host name, {}", hostname),
                          one_machine ? "keep one of %H in the host file"
                                      : "on each of %H: sudo hostnamectl set-hostname ITS_NAME");
    }
}

void judge_connections(const HostSurvey& survey, FindingList& list) {
    for (const HostVisit& target : survey.visits) {
        std::size_t asked = 0;
        std::map<std::string, std::vector<std::string>> failed;  // hosts by reason
        std::string address;
        for (const HostVisit& from : survey.visits) {
            for (const PortAttempt& attempt : from.connections) {
                if (attempt.host != target.name) continue;
                ++asked;
                if (attempt.error.empty()) continue;
                failed[attempt.error].push_back(from.name);
                address = attempt.address;
            }
        }
        std::size_t failures = 0;
        for (const auto& [error, hosts] : failed) failures += hosts.size();
        for (const auto& [error, hosts] : failed) {
            if (failures == asked) {  // no host gets through
                list.must_fix(
                    target.name,
                    fmt::format("ssh gets in, but connections to the TCP ports that MPI uses do not "
                                "(from {}: {})",
                                host_list(hosts), error),
                    open_firewall(address));
                continue;
            }
            for (const std::string& from : hosts)
                list.must_fix(
                    from,
                    fmt::format("cannot connect to {} ({}) on the TCP ports that MPI uses: {}", target.name,
                                address, error),
                    fmt::format("look at the firewalls of %H (outgoing) and of {0} (incoming), e.g. on {0}: "
                                "sudo ufw status",
                                target.name));
        }
    }
}

void judge_network_cards(const HostSurvey& survey, FindingList& list) {
    double fastest = 0;
    std::map<int, int> mtus;  // hosts by MTU
    for (const HostVisit& visit : survey.visits) {
        if (const HostInterface* card = card_of(visit, survey)) {
            fastest = std::max(fastest, card->gb_per_s);
            ++mtus[card->mtu];
        }
    }
    const int usual_mtu =
        mtus.empty() ? 0 : std::ranges::max_element(mtus, {}, [](const auto& m) { return m.second; })->first;
    for (const HostVisit& visit : survey.visits) {
        if (!visit.report) continue;
        judge_rdma(visit, list);
        const HostInterface* card = card_of(visit, survey);
        if (!card) continue;
        if (card->half_duplex)
            list.must_fix(visit.name, fmt::format("{} runs half duplex", card->name),
                          "let card and switch negotiate: on %H: sudo ethtool -s " + card->name +
                              " autoneg on; else change cable or switch port");
        if (card->gb_per_s > 0 && card->gb_per_s <= 0.1 && fastest >= 1)
            list.must_fix(visit.name,
                          fmt::format("{} runs at {:g} Mb/s, others at {:g} Gb/s", card->name,
                                      card->gb_per_s * 1e3, fastest),
                          "change the cable (a broken wire makes 100 Mb/s of 1 Gb/s) or the switch port");
        if (card->mtu != usual_mtu)
            list.remark(visit.name,
                        fmt::format("{} has MTU {}, most others {}", card->name, card->mtu, usual_mtu),
                        fmt::format("on %H: sudo ip link set dev {} mtu {}", card->name, usual_mtu));
    }
}

}  // namespace voltpile
