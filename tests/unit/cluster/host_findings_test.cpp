#include "cluster/hosts/findings.h"

#include <gtest/gtest.h>

#include "unit/cluster/host_fixtures.h"

using namespace voltpile;

namespace {

using Hosts = std::vector<std::string>;

// Expects exactly one finding in a survey that a test broke in one way.
Finding only_finding(const HostSurvey& survey) {
    const auto findings = judge_hosts(survey);
    EXPECT_EQ(findings.size(), 1u);
    for (const Finding& finding : findings) EXPECT_FALSE(finding.what.empty());
    return findings.empty() ? Finding{} : findings.front();
}

void expect_only(const HostSurvey& survey, bool must_fix, const Hosts& hosts, const std::string& what,
                 const std::string& fix) {
    const Finding finding = only_finding(survey);
    EXPECT_EQ(finding.must_fix, must_fix) << finding.what;
    EXPECT_EQ(finding.hosts, hosts) << finding.what;
    EXPECT_NE(finding.what.find(what), std::string::npos) << finding.what;
    EXPECT_NE(finding.fix.find(fix), std::string::npos) << finding.fix;
}

void lose(HostVisit& visit, Access access) {
    visit.access = access;
    visit.report.reset();
    visit.connections.clear();
}

}  // namespace

TEST(HostFindings, HealthyClusterHasNone) {
    for (const int hosts : {1, 2, 3, 40}) EXPECT_TRUE(judge_hosts(sound_survey(hosts)).empty()) << hosts;
}

TEST(HostFindings, SuggestsCommandForEveryAccessFailure) {
    const std::vector<std::tuple<Access, std::string, std::string>> cases{
        {Access::NameUnknown, "does not know the name", "/etc/hosts"},
        {Access::Unreachable, "cannot be reached", "ping -c 3 node2"},
        {Access::Refused, "refused", "apt install openssh-server"},
        {Access::KeyNotAccepted, "key is not accepted", "ssh-copy-id node2"},
        {Access::HostKeyUnknown, "host key", "ssh-keyscan node2 >> ~/.ssh/known_hosts"},
        {Access::HostKeyChanged, "host key has changed", "ssh-keygen -R node2"},
        {Access::SshFailed, "ssh fails", "ssh -v node2 true"},
        {Access::NoAnswer, "stops responding", "ssh node2 uptime"},
        {Access::ProgramMissing, "there is no /opt/voltpile", "scp /opt/voltpile node2:/opt/voltpile"},
        {Access::ProgramNotExecutable, "exists but is not executable", "ssh node2 chmod a+rx /opt/voltpile"},
        {Access::ProgramFails, "does not work there", "same packages"},
    };
    for (const auto& [access, what, fix] : cases) {
        HostSurvey survey = sound_survey(3);
        lose(survey.visits[1], access);
        expect_only(survey, true, {"node2"}, what, fix);
    }
}

TEST(HostFindings, QuotesTheLoadersMessage) {
    HostSurvey survey = sound_survey(2);
    lose(survey.visits[1], Access::ProgramFails);
    survey.visits[1].access_error = "error while loading shared libraries: libmpi.so.40";
    expect_only(survey, true, {"node2"}, "libmpi.so.40", "");
}

TEST(HostFindings, MergesEqualFindingsIntoOneLoop) {
    HostSurvey survey = sound_survey(4);
    lose(survey.visits[3], Access::KeyNotAccepted);
    lose(survey.visits[1], Access::KeyNotAccepted);
    expect_only(survey, true, {"node2", "node4"}, "key", "for h in node2 node4; do ssh-copy-id $h");
}

TEST(HostFindings, NamesFewHostsButLoopsOverAll) {
    HostSurvey survey = sound_survey(40);
    for (std::size_t i = 1; i < 40; ++i) lose(survey.visits[i], Access::Refused);
    const Finding finding = only_finding(survey);
    EXPECT_EQ(finding.hosts.size(), 39u);
    EXPECT_EQ(host_list(finding.hosts), "node2, node3, node4, node5, node6 and 34 more");
    for (std::size_t i = 1; i < 40; ++i) survey.visits[i].access = Access::KeyNotAccepted;
    EXPECT_NE(only_finding(survey).fix.find("node39 node40; do ssh-copy-id $h"), std::string::npos);
}

TEST(HostFindings, ReportsDifferentPrograms) {
    HostSurvey survey = sound_survey(3);
    survey.visits[2].report->checksum = "fedcba9876543210";
    expect_only(survey, true, {"node3"}, "another build of voltpile 0.1.0", "scp /opt/voltpile node3:");
    survey.visits[2].report->version = "0.0.9";
    expect_only(survey, true, {"node3"}, "voltpile 0.0.9 (git 1a2b3c), but node1 has 0.1.0", "scp");
}

TEST(HostFindings, ReportsDifferentOpenMpi) {
    HostSurvey survey = sound_survey(3);
    survey.visits[1].report->libraries[0].version = "4.1.5";
    survey.visits[1].shell.mpirun_version = "mpirun (Open MPI) 4.1.5";
    expect_only(survey, true, {"node2"}, "Open MPI 4.1.5, node1 has 4.1.4", "install Open MPI 4.1.4");
}

TEST(HostFindings, ReportsMpirunOfAnotherMpi) {
    HostSurvey survey = sound_survey(3);
    survey.visits[0].shell.mpirun_version = "HYDRA build details:";
    expect_only(survey, true, {"node1"}, "is that of MPICH, but voltpile uses Open MPI 4.1.4",
                "update-alternatives");
    EXPECT_EQ(mpi_of("Intel(R) MPI Library for Linux* OS, Version 2021.5"), "Intel MPI");
    EXPECT_EQ(mpi_of("mpirun (Open MPI) 5.0.7"), "Open MPI 5.0.7");
}

TEST(HostFindings, ReportsMissingDaemon) {
    HostSurvey survey = sound_survey(3);
    survey.visits[2].shell.orted.clear();
    expect_only(survey, true, {"node3"}, "orted, Open MPI's daemon, is not in the PATH",
                "apt install openmpi-bin");
}

TEST(HostFindings, RemarksOnOtherLibraries) {
    HostSurvey survey = sound_survey(3);
    survey.visits[2].report->libraries[1].version = "1.14.0";
    expect_only(survey, false, {"node3"}, "HDF5 1.14.0, node1 has 1.10.8", "");
    survey = sound_survey(3);
    survey.visits[2].report->libraries.push_back({"UCX", "1.13.1", ""});
    expect_only(survey, false, {"node3"}, "UCX 1.13.1, node1 has none", "");
}

TEST(HostFindings, ReportsClockSkewBeyondUncertainty) {
    HostSurvey survey = sound_survey(3);
    survey.visits[1].clock_offset_s = -3.2;
    survey.visits[1].clock_uncertainty_s = 0.001;
    expect_only(survey, true, {"node2"}, "the clock is 3.20 s behind that of this host",
                "timedatectl set-ntp true");
    survey.visits[1].clock_offset_s = 0.9;
    EXPECT_TRUE(judge_hosts(survey).empty());
    survey.visits[1].clock_offset_s = 1.5;
    survey.visits[1].clock_uncertainty_s = 0.6;  // the true skew may be 0.9 s
    EXPECT_TRUE(judge_hosts(survey).empty());
}

TEST(HostFindings, ReportsMisresolvedNames) {
    HostSurvey survey = sound_survey(3);
    survey.visits[0].report->names[1].addresses = {"127.0.1.1"};
    expect_only(survey, true, {"node1"}, "node2 resolves to 127.0.1.1, which is the host itself",
                "10.0.0.2 node2");

    survey = sound_survey(3);
    survey.visits[2].report->names[1].addresses = {"10.0.0.77"};
    expect_only(survey, true, {"node3"}, "node2 resolves to 10.0.0.77, but its address is 10.0.0.2",
                "/etc/hosts");

    survey = sound_survey(3);
    survey.visits[0].report->names[2] = {"node3", {}, "Name or service not known"};
    survey.visits[1].report->names[2] = {"node3", {}, "Name or service not known"};
    expect_only(survey, true, {"node1", "node2"}, "the name node3 is unknown there",
                "on node1, node2: echo '10.0.0.3 node3' | sudo tee -a /etc/hosts");
}

TEST(HostFindings, RemarksOnDebiansLoopbackName) {
    HostSurvey survey = sound_survey(3);
    for (std::size_t i = 0; i < 3; ++i) survey.visits[i].report->names[i].addresses = {"127.0.1.1"};
    expect_only(survey, false, {"node1", "node2", "node3"}, "own name resolves to 127.0.1.1", "/etc/hosts");
}

TEST(HostFindings, ReportsDuplicateHostnamesAndMachines) {
    HostSurvey survey = sound_survey(3);
    survey.visits[2].report->hostname = "node2";
    expect_only(survey, true, {"node2", "node3"}, "have the same host name, node2", "set-hostname");

    survey = sound_survey(3);
    survey.visits[2].report->hostname = "node2";
    survey.visits[2].report->interfaces = survey.visits[1].report->interfaces;
    survey.visits[2].report->reached_at = "10.0.0.2";
    for (HostVisit& visit : survey.visits) visit.report->names[2].addresses = {"10.0.0.2"};
    expect_only(survey, true, {"node2", "node3"}, "the same machine", "keep one of node2, node3");
}

TEST(HostFindings, ReportsFirewallThatBlocksEveryone) {
    HostSurvey survey = sound_survey(3);
    survey.visits[0].connections[1].error = "No route to host";
    survey.visits[1].connections[1].error = "No route to host";
    expect_only(survey, true, {"node3"}, "(from node1, node2: No route to host)",
                "sudo ufw allow from 10.0.0.0/24");
}

TEST(HostFindings, ReportsOneWayConnectionFailure) {
    HostSurvey survey = sound_survey(3);
    survey.visits[1].connections[1].error = "no answer in 3 s";  // node2 to node3
    expect_only(survey, true, {"node2"}, "cannot connect to node3 (10.0.0.3)", "node3");
}

TEST(HostFindings, ReportsFolderProblems) {
    HostSurvey survey = sound_survey(3);
    survey.visits[1].report->folder = {};
    expect_only(survey, true, {"node2"}, "there is no folder /shared", "ssh node2 mkdir -p /shared");

    survey = sound_survey(3);
    survey.visits[1].report->folder.writable = false;
    survey.visits[1].report->folder.error = "Permission denied";
    expect_only(survey, true, {"node2"}, "cannot be written: Permission denied", "ls -ld /shared");

    survey = sound_survey(3);  // a different disk: a valid choice
    survey.visits[1].report->folder.sees_probe = false;
    survey.visits[1].folder_seen_here = false;
    expect_only(survey, false, {"node2"}, "gathered from the host's own disk", "");

    survey = sound_survey(3);
    survey.visits[1].report->folder.free_bytes = 5'000'000;
    expect_only(survey, false, {"node2"}, "only 5.0 MB left", "");
}

TEST(HostFindings, ReportsNetworkCardProblems) {
    HostSurvey survey = sound_survey(3);
    survey.visits[1].report->interfaces[0].gb_per_s = 0.1;
    expect_only(survey, true, {"node2"}, "eth0 runs at 100 Mb/s, others at 1 Gb/s", "cable");

    survey = sound_survey(3);
    survey.visits[1].report->interfaces[0].half_duplex = true;
    expect_only(survey, true, {"node2"}, "half duplex", "ethtool");

    survey = sound_survey(3);
    survey.visits[2].report->interfaces[0].mtu = 9000;
    expect_only(survey, false, {"node3"}, "MTU 9000, most others 1500", "ip link set dev eth0 mtu 1500");

    survey = sound_survey(3);
    survey.visits[0].report->rdma_ports = {{"mlx5_0", 1, "INIT", 100}};
    expect_only(survey, true, {"node1"}, "no subnet manager", "opensm");
}

TEST(HostFindings, ReportsGpuProblems) {
    HostSurvey survey = sound_survey(3);
    survey.visits[1].report->gpus.pop_back();  // on the bus, but the driver lost it
    const auto findings = judge_hosts(survey);
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_TRUE(findings[0].must_fix);
    EXPECT_NE(findings[0].what.find("4 NVIDIA GPUs are on the bus, but CUDA can use 3"), std::string::npos);

    survey = sound_survey(3);  // deliberately unequal
    survey.visits[1].report->gpus.assign(2, {"NVIDIA GeForce RTX 3060", 12'000'000'000});
    survey.visits[1].report->gpus_on_bus = 2;
    expect_only(survey, false, {}, "node2: 2x NVIDIA GeForce RTX 3060", "");

    survey = sound_survey(3);
    for (HostVisit& visit : survey.visits) visit.report->libraries.push_back({"CUDA driver", "11.4", ""});
    expect_only(survey, true, {"node1", "node2", "node3"},
                "supports CUDA 11.4, but voltpile was built with CUDA 12.8", "newer driver");
}

TEST(HostFindings, RemarksOnSlotsAndLoginOutput) {
    HostSurvey survey = sound_survey(2);
    survey.visits[1].slots = 32;
    expect_only(survey, false, {"node2"}, "slots=32 in the host file, but there are 16 cores", "");
    survey = sound_survey(2);
    survey.visits[1].shell.chatter = {"Welcome!"};
    expect_only(survey, false, {"node2"}, "Welcome!", "[ -t 1 ]");
}

TEST(HostFindings, ListsMustFixFirst) {
    HostSurvey survey = sound_survey(3);
    survey.visits[0].slots = 99;
    survey.visits[2].clock_offset_s = 10;
    const auto findings = judge_hosts(survey);
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_TRUE(findings[0].must_fix);
    EXPECT_FALSE(findings[1].must_fix);
    EXPECT_TRUE(any_must_fix(findings));
    EXPECT_FALSE(any_must_fix({findings[1]}));
}
