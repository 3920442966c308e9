#include "health/node_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/format.h"
#include "comm/mpi/transport.h"

namespace voltpile {
namespace {

// Load on the nodes accounts for half of these factors.
constexpr double much_slower = 2.5, much_later = 4;
// Latencies that differ by less than this scatter on any busy node.
constexpr double notable_us = 50;
// Of the adapters' rate. TCP over fast adapters stays below this; RDMA reaches 0.9.
constexpr double least_of_theory = 0.3;

std::string link_rate_text(double bytes_per_s) {
    return bytes_text(bytes_per_s) + "/s";
}

// Between two values, the one further out: of three, the upper quartile is the largest.
double quantile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    const double place = share * static_cast<double>(values.size() - 1);
    const auto at =
        values.begin() + static_cast<std::ptrdiff_t>(share > 0.5 ? std::ceil(place) : std::floor(place));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

class NodeLinkJudge {
  public:
    explicit NodeLinkJudge(const NodeLinks& links) : links_(links), findings_(links.nodes.size()) {
        std::vector<double> rates, latencies;
        for (std::size_t a = 0; a < size(); ++a)
            for (std::size_t b = a + 1; b < size(); ++b) {
                if (!measured(a, b)) continue;
                rates.push_back(rate(a, b));
                latencies.push_back(links_.latency_us[a][b]);
            }
        // Quartiles, because one bad node spoils most pairs of a small cluster.
        usual_rate_ = quantile(rates, 0.75);
        usual_us_ = quantile(latencies, 0.25);
    }

    std::vector<std::vector<NodeFinding>> judge() {
        std::vector<bool> blamed(size());
        for (std::size_t a = 0; a < size() && size() > 2; ++a) {
            bool all = true;
            for (std::size_t b = 0; b < size(); ++b) all = all && (b == a || differs(a, b));
            if (!all) continue;
            blamed[a] = true;
            blame(a);
        }
        for (std::size_t a = 0; a < size(); ++a)
            for (std::size_t b = 0; b < size(); ++b)
                if (a != b && !blamed[a] && !blamed[b]) judge_link(a, b);
        return std::move(findings_);
    }

  private:
    std::size_t size() const { return links_.nodes.size(); }
    bool measured(std::size_t a, std::size_t b) const { return rate(a, b) > 0; }
    double rate(std::size_t a, std::size_t b) const {
        return std::min(links_.bytes_per_s[a][b], links_.bytes_per_s[b][a]);
    }
    bool is_slow(std::size_t a, std::size_t b) const { return rate(a, b) * much_slower < usual_rate_; }
    bool is_late(std::size_t a, std::size_t b) const {
        const double us = links_.latency_us[a][b];
        return us > much_later * usual_us_ && us > usual_us_ + notable_us;
    }
    bool differs(std::size_t a, std::size_t b) const {
        return measured(a, b) && (is_slow(a, b) || is_late(a, b));
    }

    void blame(std::size_t a) {
        double best = 0, least_us = std::numeric_limits<double>::infinity();
        for (std::size_t b = 0; b < size(); ++b) {
            if (b == a) continue;
            best = std::max(best, rate(a, b));
            least_us = std::min(least_us, links_.latency_us[a][b]);
        }
        const std::string what = "its links to all other nodes are slow";
        if (best * much_slower < usual_rate_)
            add(a, fmt::format("{}: at best {}, where others reach {}", what, link_rate_text(best),
                               link_rate_text(usual_rate_)));
        else
            add(a, fmt::format("{}: messages take at least {:.3g} µs, where others take {:.3g} µs", what,
                               least_us, usual_us_));
    }

    void judge_link(std::size_t a, std::size_t b) {
        if (!measured(a, b)) return;
        const std::string link = fmt::format("its link to {}", links_.nodes[b]);
        const double theory = std::min(links_.adapter_bytes_per_s[a], links_.adapter_bytes_per_s[b]);
        if (is_slow(a, b))
            add(a, fmt::format("{} is slow: {}, where others reach {}", link, link_rate_text(rate(a, b)),
                               link_rate_text(usual_rate_)));
        else if (is_late(a, b))
            add(a, fmt::format("{} is slow: messages take {:.3g} µs, where others take {:.3g} µs", link,
                               links_.latency_us[a][b], usual_us_));
        else if (rate(a, b) < least_of_theory * theory)
            findings_[a].push_back(
                {Health::Degraded,
                 fmt::format("{}: {}, {:.0f} % of the {} of its network adapter", link,
                             link_rate_text(rate(a, b)), 100 * rate(a, b) / theory, link_rate_text(theory)),
                 "see which network MPI uses: voltpile hosts"});
    }

    void add(std::size_t node, std::string text) {
        findings_[node].push_back(
            {Health::Degraded, std::move(text),
             "look at cable and switch port, and at ethtool (speed, duplex) and ip -s link (errors, MTU)"});
    }

    const NodeLinks& links_;
    double usual_rate_ = 0, usual_us_ = 0;
    std::vector<std::vector<NodeFinding>> findings_;
};

}  // namespace

NodeLinks::NodeLinks(std::vector<std::string> names)
    : nodes(std::move(names)),
      adapter_bytes_per_s(nodes.size()),
      latency_us(nodes.size(), std::vector<double>(nodes.size())),
      bytes_per_s(latency_us) {}

NodeLinks measure_node_links(const MpiSession& mpi, std::vector<std::string> nodes,
                             double adapter_bytes_per_s, const LinkSeconds& seconds,
                             const std::function<void(int a, int b)>& step) {
    NodeLinks links(std::move(nodes));
    links.transport = transport_text();
    std::size_t rank = 0;
    for (const std::string& text : mpi.world().all_gather(nlohmann::json(adapter_bytes_per_s).dump()))
        links.adapter_bytes_per_s[rank++] = nlohmann::json::parse(text);
    const auto index = [](int number) { return static_cast<std::size_t>(number); };
    probe_links(mpi, seconds,
                {[](double) {}, step,
                 [&](int a, int b, double us) {
                     double& best = links.latency_us[index(a)][index(b)];
                     best = links.latency_us[index(b)][index(a)] = best > 0 ? std::min(best, us) : us;
                     step(a, b);
                 },
                 [&](int a, int b, double forth, double back) {
                     double &to = links.bytes_per_s[index(a)][index(b)],
                            &from = links.bytes_per_s[index(b)][index(a)];
                     to = std::max(to, forth);
                     from = std::max(from, back);
                 }});
    return links;
}

std::vector<std::string> not_measured_with(const NodeLinks& links, std::size_t node) {
    std::vector<std::string> names;
    for (std::size_t other = 0; other < links.nodes.size(); ++other)
        if (other != node && links.bytes_per_s[node][other] <= 0) names.push_back(links.nodes[other]);
    return names;
}

std::vector<std::vector<NodeFinding>> judge_links(const NodeLinks& links) {
    return NodeLinkJudge(links).judge();
}

std::string links_text(const NodeLinks& links) {
    std::vector<double> rates, latencies, theories;
    for (std::size_t a = 0; a < links.nodes.size(); ++a)
        for (std::size_t b = 0; b < links.nodes.size(); ++b) {
            if (links.bytes_per_s[a][b] <= 0) continue;
            rates.push_back(links.bytes_per_s[a][b]);
            latencies.push_back(links.latency_us[a][b]);
            theories.push_back(std::min(links.adapter_bytes_per_s[a], links.adapter_bytes_per_s[b]));
        }
    if (rates.empty()) return "";
    const double theory = *std::ranges::max_element(theories);
    return fmt::format("between {} nodes, host memory, {}: {:.3g} to {:.3g} µs, {} to {}{}\n",
                       links.nodes.size(), links.transport, *std::ranges::min_element(latencies),
                       *std::ranges::max_element(latencies), link_rate_text(*std::ranges::min_element(rates)),
                       link_rate_text(*std::ranges::max_element(rates)),
                       theory > 0 ? fmt::format(" of {} in theory", link_rate_text(theory)) : "");
}

nlohmann::json links_json(const NodeLinks& links, std::size_t from) {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t to = 0; to < links.nodes.size(); ++to)
        if (links.bytes_per_s[from][to] > 0)
            list.push_back({{"to", links.nodes[to]},
                            {"latency_us", links.latency_us[from][to]},
                            {"bytes_per_s", links.bytes_per_s[from][to]}});
    return list;
}

}  // namespace voltpile
