// Findings about measured links: pairs that are much slower than others, and faster networks that MPI
// ignores.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format.h"
#include "cluster/hosts/finding_list.h"

namespace voltpile {
namespace {

// Share of the cards' bandwidth below which links are remarkable; TCP over gigabit cards reaches 0.9.
constexpr double low_share = 0.3;
// Factor by which a bad link is slower. A gigabit card that fell back to 100 Mb/s is ten times slower; load
// on the hosts accounts for half of this factor.
constexpr double much_slower = 4;

std::string rate_text(double bytes_per_s) {
    return bytes_text(bytes_per_s) + "/s";
}

class LinkJudge {
  public:
    LinkJudge(const LinkSurvey& links, const HostSurvey& survey) : links_(links), survey_(survey) {}

    std::vector<Finding> judge() {
        judge_failure();
        if (links_.complete()) {
            judge_speeds();
            judge_best();
            judge_ways();
        }
        return list_.take(links_.hosts);
    }

  private:
    const std::string& name(std::size_t rank) const { return links_.hosts[rank]; }
    std::size_t size() const { return links_.hosts.size(); }

    const HostReport* report(std::size_t rank) const {
        for (const HostVisit& visit : survey_.visits)
            if (visit.name == name(rank) && visit.report) return &*visit.report;
        return nullptr;
    }

    const HostInterface* card(std::size_t rank) const {
        const HostReport* its = report(rank);
        if (!its || rank >= links_.ends.size()) return nullptr;
        for (const HostInterface& interface : its->interfaces)
            if (interface.name == links_.ends[rank].device) return &interface;
        return nullptr;
    }

    // Returns the speed in Gb/s of the device that carried the bytes; 0: unknown.
    double gigabits(std::size_t rank) const {
        if (const HostInterface* interface = card(rank)) return interface->gb_per_s;
        const HostReport* its = report(rank);
        if (!its || rank >= links_.ends.size()) return 0;
        for (const HostRdmaPort& port : its->rdma_ports)
            if (port.device == links_.ends[rank].device) return port.gb_per_s;
        return 0;
    }

    double slower_way(std::size_t a, std::size_t b) const {
        return std::min(links_.bytes_per_s[a][b], links_.bytes_per_s[b][a]);
    }

    void judge_failure() {
        if (links_.complete()) return;
        if (!links_.stuck)
            return list_.must_fix("", "mpirun does not work over all hosts: " + links_.failure,
                                  "try it by hand: mpirun --hostfile HOSTS --map-by ppr:1:node hostname");
        const auto a = static_cast<std::size_t>(links_.stuck->first),
                   b = static_cast<std::size_t>(links_.stuck->second);
        const std::string pair = fmt::format("{} and {}", name(a), name(b));
        if (!links_.small_messages_pass)
            return list_.must_fix(
                "", fmt::format("no MPI message got through between {} ({})", pair, links_.failure),
                "look at the cable, the switch port and the firewalls of these two");
        std::string mtus;
        if (const HostReport* x = report(a), *y = report(b); x && y)
            for (const HostInterface& i : x->interfaces)
                for (const HostInterface& j : y->interfaces)
                    if (i.name == j.name && i.mtu != j.mtu)
                        mtus += fmt::format(" ({} has MTU {} on {} and {} on {})", i.name, i.mtu, name(a),
                                            j.mtu, name(b));
        list_.must_fix(
            "", fmt::format("small messages pass between {}, but large ones get stuck{}", pair, mtus),
            "give the interfaces of both, and the switch, the same MTU: sudo ip link set dev eth0 mtu 1500");
    }

    // Returns the rate of a healthy pair: the upper quartile, because one bad host spoils most pairs of a
    // small cluster.
    double usual_rate() const {
        std::vector<double> rates;
        for (std::size_t a = 0; a < size(); ++a)
            for (std::size_t b = a + 1; b < size(); ++b) rates.push_back(slower_way(a, b));
        if (rates.empty()) return 0;
        std::ranges::sort(rates);
        return rates[(rates.size() * 3 + 3) / 4 - 1];
    }

    std::string why_slow(std::size_t rank) const {
        const HostInterface* its = card(rank);
        std::string why;
        if (!its) return why;
        if (its->half_duplex) why += fmt::format("; {} there runs half duplex", its->name);
        for (std::size_t other = 0; other < size(); ++other) {
            if (gigabits(other) > 2 * its->gb_per_s && its->gb_per_s > 0)
                return why + fmt::format("; its {} runs at {:g} Gb/s, that of {} at {:g} Gb/s", its->name,
                                         its->gb_per_s, name(other), gigabits(other));
            if (const HostInterface* theirs = card(other); theirs && theirs->mtu != its->mtu)
                return why + fmt::format("; its {} has MTU {}, that of {} {}", its->name, its->mtu,
                                         name(other), theirs->mtu);
        }
        return why;
    }

    // Returns whether the rate is normal for the rank's card, which is slower than the others.
    bool is_just_a_slower_card(std::size_t rank, double rate, double usual) const {
        const double its = gigabits(rank) * 1e9 / 8;
        return its > 1e8 / 8 && rate > its / much_slower && its < usual;
    }

    void judge_speeds() {
        const double usual = usual_rate();
        std::set<std::pair<std::size_t, std::size_t>> slow;
        for (std::size_t a = 0; a < size(); ++a)
            for (std::size_t b = a + 1; b < size(); ++b)
                if (slower_way(a, b) < usual / much_slower) slow.emplace(a, b);
        const auto is_slow = [&](std::size_t a, std::size_t b) {
            return slow.contains({std::min(a, b), std::max(a, b)});
        };
        std::set<std::size_t> blamed;
        for (std::size_t a = 0; a < size() && size() > 2; ++a) {
            double best = 0;
            bool all = true;
            for (std::size_t b = 0; b < size(); ++b) {
                if (b == a) continue;
                all = all && is_slow(a, b);
                best = std::max(best, slower_way(a, b));
            }
            if (!all) continue;
            blamed.insert(a);
            const std::string what =
                fmt::format("the links to all other hosts are slow: at best {}, where others reach {}{}",
                            rate_text(best), rate_text(usual), why_slow(a));
            if (is_just_a_slower_card(a, best, usual))
                list_.remark(name(a), what);
            else
                list_.must_fix(name(a), what, look_at(name(a), a));
        }
        for (const auto& [a, b] : slow) {
            if (blamed.contains(a) || blamed.contains(b)) continue;
            list_.must_fix(
                "",
                fmt::format("the link between {} and {} is slow: {}, where others reach {}{}", name(a),
                            name(b), rate_text(slower_way(a, b)), rate_text(usual), why_slow(a)),
                look_at(fmt::format("{} and {}", name(a), name(b)), a));
        }
        judge_directions(is_slow);
    }

    std::string look_at(const std::string& where, std::size_t rank) const {
        const HostInterface* its = card(rank);
        const std::string device = its ? its->name : "eth0";
        return fmt::format(
            "look at cable and switch port, and on {}: ethtool {} (speed, duplex), ip -s link show {} "
            "(errors, MTU)",
            where, device, device);
    }

    template <class IsSlow>
    void judge_directions(const IsSlow& is_slow) {
        for (std::size_t a = 0; a < size(); ++a)
            for (std::size_t b = 0; b < size(); ++b)
                if (a != b && !is_slow(a, b) &&
                    links_.bytes_per_s[a][b] * much_slower < links_.bytes_per_s[b][a])
                    list_.must_fix(
                        "",
                        fmt::format("{} to {} reaches only {}, the reverse direction {}", name(a), name(b),
                                    rate_text(links_.bytes_per_s[a][b]), rate_text(links_.bytes_per_s[b][a])),
                        "one end runs half duplex or a cable is bad: " +
                            look_at(fmt::format("{} and {}", name(a), name(b)), a));
    }

    // Compares the best pair with the speed of its cards: with two hosts there is no other pair to compare.
    void judge_best() {
        double best = 0, theory = 0;
        std::string pair;
        for (std::size_t a = 0; a < size(); ++a) {
            for (std::size_t b = a + 1; b < size(); ++b) {
                if (slower_way(a, b) <= best) continue;
                best = slower_way(a, b);
                theory = std::min(gigabits(a), gigabits(b)) * 1e9 / 8;
                pair = fmt::format("{} and {}", name(a), name(b));
            }
        }
        if (theory <= 0 || best > low_share * theory) return;
        list_.remark(
            "",
            fmt::format("even the fastest link, between {}, reaches only {} of the {} that its cards support",
                        pair, rate_text(best), rate_text(theory)),
            "busy hosts, or a slower switch or cable between them; beyond 10 Gb/s, RDMA: --transport ucx");
    }

    // Remarks on ranks whose messages used a slower device than the host has.
    void judge_ways() {
        for (std::size_t rank = 0; rank < size() && rank < links_.ends.size() && size() > 1; ++rank) {
            const HostReport* its = report(rank);
            if (!its) continue;
            if (links_.ends[rank].device.empty()) {
                list_.remark(name(rank), "no data went through a network card: the hosts share one machine");
                continue;
            }
            std::string better;
            double best = 2 * gigabits(rank);
            if (best <= 0) continue;
            for (const HostRdmaPort& port : its->rdma_ports) {
                if (port.state != "ACTIVE" || port.gb_per_s < best) continue;
                best = port.gb_per_s;
                better = fmt::format("{} ({:g} Gb/s), not used", port.device, port.gb_per_s);
            }
            for (const HostInterface& interface : its->interfaces) {
                if (interface.is_virtual || interface.addresses.empty() || interface.gb_per_s <= best)
                    continue;
                best = interface.gb_per_s;
                better = fmt::format("{} ({:g} Gb/s), not used", interface.name, interface.gb_per_s);
            }
            if (!better.empty())
                list_.remark(
                    name(rank),
                    fmt::format("messages went over {} ({:g} Gb/s), but the host has {}",
                                links_.ends[rank].device, gigabits(rank), better),
                    "name it: voltpile hosts HOSTS --network DEVICE --transport ucx (or tcp), and in the job "
                    "file cluster.network and cluster.transport");
        }
    }

    const LinkSurvey& links_;
    const HostSurvey& survey_;
    FindingList list_;
};

}  // namespace

std::vector<Finding> judge_links(const LinkSurvey& links, const HostSurvey& survey) {
    return LinkJudge(links, survey).judge();
}

}  // namespace voltpile
