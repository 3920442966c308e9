// A healthy cluster of any size, which tests then break.
#pragma once

#include <fmt/format.h>

#include <string>

#include "cluster/hosts/findings.h"

namespace voltpile {

inline std::string name_of(int index) {
    return fmt::format("node{}", index + 1);
}

inline std::string address_of(int index) {
    return fmt::format("10.0.0.{}", index + 1);
}

// Returns a survey of healthy hosts with one gigabit card each; node1 is the local host.
inline HostSurvey sound_survey(int hosts) {
    HostSurvey survey{"/opt/voltpile", "/shared", {}};
    for (int i = 0; i < hosts; ++i) {
        HostVisit visit;
        visit.name = name_of(i);
        visit.here = i == 0;
        visit.access = Access::Answered;
        visit.shell = {true, "/usr/bin/mpirun", "/usr/bin/orted", "mpirun (Open MPI) 4.1.4", {}};
        visit.folder_seen_here = true;
        HostReport report;
        report.hostname = visit.name;
        report.version = "0.1.0";
        report.git_revision = "1a2b3c";
        report.checksum = "0123456789abcdef";
        report.cuda = "12.8";
        report.libraries = {{"Open MPI", "4.1.4", "/usr/lib/libmpi.so"},
                            {"HDF5", "1.10.8", "/usr/lib/libhdf5.so"}};
        report.cores = 16;
        report.memory_bytes = 64'000'000'000;
        report.gpus.assign(4, {"Tesla V100-SXM2-16GB", 16'000'000'000});
        report.gpus_on_bus = 4;
        report.interfaces = {{"eth0", false, 1.0, 1500, false, {address_of(i)}}};
        report.folder = {true, true, true, "", 1'000'000'000'000};
        report.reached_at = i == 0 ? "" : address_of(i);
        report.reached_from = i == 0 ? "" : address_of(0);
        for (int other = 0; other < hosts; ++other) {
            report.names.push_back({name_of(other), {address_of(other)}, ""});
            if (other != i) visit.connections.push_back({name_of(other), address_of(other), ""});
        }
        visit.report = report;
        survey.visits.push_back(visit);
    }
    return survey;
}

// Returns links of 117 MB/s, the rate of TCP over gigabit cards, and 50 us.
inline LinkSurvey sound_links(int hosts) {
    LinkSurvey links;
    const auto n = static_cast<std::size_t>(hosts);
    for (int i = 0; i < hosts; ++i) {
        links.hosts.push_back(name_of(i));
        links.ends.push_back({name_of(i), "TCP over eth0 (1 Gb/s)", "eth0"});
    }
    links.ring_hop_us = 50;
    links.latency_us.assign(n, std::vector<double>(n, 50));
    links.bytes_per_s.assign(n, std::vector<double>(n, 117e6));
    return links;
}

inline void set_pair(LinkSurvey& links, std::size_t a, std::size_t b, double bytes_per_s) {
    links.bytes_per_s[a][b] = links.bytes_per_s[b][a] = bytes_per_s;
}

}  // namespace voltpile
