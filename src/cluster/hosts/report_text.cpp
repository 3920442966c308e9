#include "cluster/hosts/report_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/format.h"
#include "cluster/hosts/finding_list.h"

namespace voltpile {
namespace {

constexpr const char* red = "\033[31m";
constexpr const char* green = "\033[32m";
constexpr const char* yellow = "\033[33m";
constexpr const char* default_color = "\033[0m";

using TableRow = std::vector<std::string>;

std::string painted(const std::string& text, const char* color, bool wanted) {
    return wanted ? color + text + default_color : text;
}

// Aligns rows in columns. `paint` colors the padded cells of the second column.
template <class Paint>
std::string table(const std::vector<TableRow>& rows, bool right_aligned, const Paint& paint) {
    std::vector<std::size_t> widths;
    for (const TableRow& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        std::string line;
        for (std::size_t i = 0; i < rows[r].size(); ++i) {
            const bool right = right_aligned && i > 0;
            const std::string cell = right ? fmt::format("{:>{}}", rows[r][i], widths[i])
                                           : fmt::format("{:<{}}", rows[r][i], widths[i]);
            line += (i ? "  " : "") + (i == 1 && r > 0 ? paint(cell) : cell);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string table(const std::vector<TableRow>& rows) {
    return table(rows, true, [](const std::string& cell) { return cell; });
}

std::string small_time(double seconds) {
    const double size = std::abs(seconds);
    if (size < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
    if (size < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
    return fmt::format("{:.2f} s", seconds);
}

std::string clock_text(const HostVisit& visit) {
    if (visit.here) return "reference";
    return fmt::format("{}{} +- {}", visit.clock_offset_s > 0 ? "+" : "", small_time(visit.clock_offset_s),
                       small_time(visit.clock_uncertainty_s));
}

std::string gpu_text(const HostReport& report) {
    std::map<std::string, int> counts;
    for (const HostGpu& gpu : report.gpus) ++counts[gpu.name];
    std::vector<std::string> parts;
    for (const auto& [name, count] : counts) parts.push_back(fmt::format("{}x {}", count, name));
    return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string card_text(const std::string& name, double gb_per_s) {
    return gb_per_s > 0 ? fmt::format("{} {:g} Gb/s", name, gb_per_s) : name;
}

std::string network_text(const HostVisit& visit, const HostSurvey& survey) {
    std::vector<std::string> parts;
    for (const HostRdmaPort& port : visit.report->rdma_ports)
        if (port.state == "ACTIVE") parts.push_back(card_text(port.device, port.gb_per_s));
    if (const HostInterface* card = interface_of(*visit.report, address_of(visit, survey)))
        parts.push_back(card_text(card->name, card->gb_per_s));
    return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string state_text(const HostVisit& visit, const std::vector<Finding>& findings) {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < findings.size(); ++i)
        if (findings[i].must_fix &&
            std::ranges::find(findings[i].hosts, visit.name) != findings[i].hosts.end())
            numbers.push_back(i + 1);
    if (!numbers.empty()) return fmt::format("fix {}", fmt::join(numbers, ", "));
    return visit.report ? "ok" : "no report";
}

// ---- links
// -----------------------------------------------------------------------------------------------------------

constexpr std::size_t largest_matrix = 12;  // hosts; more columns do not fit a terminal

template <class Cell>
std::string matrix(const LinkSurvey& links, const Cell& cell) {
    std::vector<TableRow> rows{{""}};
    rows[0].insert(rows[0].end(), links.hosts.begin(), links.hosts.end());
    for (std::size_t a = 0; a < links.hosts.size(); ++a) {
        TableRow row{links.hosts[a]};
        for (std::size_t b = 0; b < links.hosts.size(); ++b) row.push_back(a == b ? "-" : cell(a, b));
        rows.push_back(row);
    }
    return table(rows);
}

std::string bandwidth_text(double bytes_per_s) {
    return bytes_per_s > 0 ? bytes_text(bytes_per_s) + "/s" : "?";
}

std::string latency_text(double latency_us) {
    return latency_us > 0 ? small_time(latency_us / 1e6) : "?";
}

// Returns the slowest and the fastest link of each host.
std::string summary(const LinkSurvey& links) {
    std::vector<TableRow> rows{{"", "slowest link", "to", "fastest link", "to", "longest latency", "to"}};
    for (std::size_t a = 0; a < links.hosts.size(); ++a) {
        const auto better = [&](const auto& figures, std::size_t x, std::size_t y, bool larger) {
            return larger ? figures[a][x] > figures[a][y] : figures[a][x] < figures[a][y];
        };
        const std::size_t first = a == 0 ? 1 : 0;
        std::size_t slowest = first, fastest = first, latest = first;
        for (std::size_t b = 0; b < links.hosts.size(); ++b) {
            if (b == a) continue;
            if (better(links.bytes_per_s, b, slowest, false)) slowest = b;
            if (better(links.bytes_per_s, b, fastest, true)) fastest = b;
            if (better(links.latency_us, b, latest, true)) latest = b;
        }
        rows.push_back({links.hosts[a], bandwidth_text(links.bytes_per_s[a][slowest]), links.hosts[slowest],
                        bandwidth_text(links.bytes_per_s[a][fastest]), links.hosts[fastest],
                        latency_text(links.latency_us[a][latest]), links.hosts[latest]});
    }
    return table(rows);
}

// Names the slowest card that carried data.
std::string theory_text(const LinkSurvey& links, const HostSurvey& survey) {
    std::string slowest;
    double least = 0;
    const auto consider = [&](const std::string& host, const std::string& device, double gb_per_s) {
        if (gb_per_s <= 0 || (least > 0 && gb_per_s >= least)) return;
        least = gb_per_s;
        slowest = fmt::format("{} of {}", device, host);
    };
    for (std::size_t rank = 0; rank < links.ends.size(); ++rank) {
        for (const HostVisit& visit : survey.visits) {
            if (visit.name != links.hosts[rank] || !visit.report) continue;
            for (const HostInterface& interface : visit.report->interfaces)
                if (interface.name == links.ends[rank].device)
                    consider(visit.name, interface.name, interface.gb_per_s);
            for (const HostRdmaPort& port : visit.report->rdma_ports)
                if (port.device == links.ends[rank].device) consider(visit.name, port.device, port.gb_per_s);
        }
    }
    if (least <= 0) return "";
    return fmt::format("The slowest card, {}, can do {:g} Gb/s = {}/s.\n", slowest, least,
                       bytes_text(least * 1e9 / 8));
}

std::string ways_text(const LinkSurvey& links) {
    std::map<std::string, std::vector<std::string>> hosts_of;
    for (std::size_t rank = 0; rank < links.ends.size(); ++rank)
        hosts_of[links.ends[rank].transport].push_back(links.hosts[rank]);
    if (hosts_of.size() == 1) return fmt::format("Transport: {}.\n", hosts_of.begin()->first);
    std::string text;
    for (const auto& [way, hosts] : hosts_of)
        text += fmt::format("Transport of {}: {}.\n", host_list(hosts), way);
    return text;
}

}  // namespace

std::string host_table(const HostSurvey& survey, const std::vector<Finding>& findings, bool color) {
    std::vector<TableRow> rows{{"host", "state", "cores", "memory", "GPUs", "network", "clock", "voltpile"}};
    for (const HostVisit& visit : survey.visits) {
        TableRow row{visit.name + (visit.here ? visit.listed ? " (here)" : " (here, not in the list)" : ""),
                     state_text(visit, findings)};
        if (visit.report) {
            const HostReport& report = *visit.report;
            row.insert(row.end(),
                       {std::to_string(report.cores), bytes_text(static_cast<double>(report.memory_bytes)),
                        gpu_text(report), network_text(visit, survey), clock_text(visit),
                        fmt::format("{} ({})", report.version, report.git_revision)});
        }
        rows.push_back(row);
    }
    return table(rows, false, [&](const std::string& cell) {
        return painted(cell, cell.starts_with("ok") ? green : red, color);
    });
}

std::string link_text(const LinkSurvey& links, const HostSurvey& survey) {
    if (!links.complete() || links.hosts.size() < 2) return "";
    std::string text;
    if (links.hosts.size() <= largest_matrix) {
        text += "bandwidth from (row) to (column)\n" + matrix(links, [&](std::size_t a, std::size_t b) {
                    return bandwidth_text(links.bytes_per_s[a][b]);
                });
        text += "\nlatency\n" + matrix(links, [&](std::size_t a, std::size_t b) {
                    return latency_text(links.latency_us[a][b]);
                });
    } else {
        text += summary(links);
    }
    text += fmt::format("\nA token passed around the ring of all hosts takes {} per hop.\n",
                        small_time(links.ring_hop_us / 1e6));
    return text + ways_text(links) + theory_text(links, survey);
}

std::string finding_text(const std::vector<Finding>& findings, bool color) {
    std::string fixes, remarks;
    int number = 0;
    for (const Finding& finding : findings) {
        const std::string what = finding.hosts.empty()
                                     ? finding.what
                                     : fmt::format("{}: {}", host_list(finding.hosts), finding.what);
        if (finding.must_fix) {
            fixes += fmt::format("{:>3}. {}\n", ++number, what);
            if (!finding.fix.empty()) fixes += fmt::format("       -> {}\n", finding.fix);
        } else {
            remarks += fmt::format("  - {}\n", what);
            if (!finding.fix.empty()) remarks += fmt::format("       -> {}\n", finding.fix);
        }
    }
    std::string text;
    if (!fixes.empty()) text += painted("What to fix", red, color) + "\n" + fixes;
    if (!remarks.empty())
        text += (text.empty() ? "" : "\n") + painted("Worth knowing", yellow, color) + "\n" + remarks;
    return text;
}

}  // namespace voltpile
