#include "cluster/hosts/links.h"

#include <gtest/gtest.h>

#include "unit/cluster/host_fixtures.h"

using namespace voltpile;

namespace {

void expect_only(const LinkSurvey& links, const HostSurvey& survey, bool must_fix,
                 const std::vector<std::string>& hosts, const std::string& what) {
    const auto findings = judge_links(links, survey);
    ASSERT_EQ(findings.size(), 1u) << (findings.size() > 1 ? findings[1].what : "");
    EXPECT_EQ(findings[0].must_fix, must_fix);
    EXPECT_EQ(findings[0].hosts, hosts);
    EXPECT_NE(findings[0].what.find(what), std::string::npos) << findings[0].what;
}

}  // namespace

TEST(HostLinks, ToleratesNoiseOfBusyHosts) {
    for (const int hosts : {2, 3, 8, 40}) {
        LinkSurvey links = sound_links(hosts);
        EXPECT_TRUE(judge_links(links, sound_survey(hosts)).empty()) << hosts;
        set_pair(links, 0, 1, 60e6);
        EXPECT_TRUE(judge_links(links, sound_survey(hosts)).empty()) << hosts;
    }
}

TEST(HostLinks, ReportsOneSlowPair) {
    for (const int hosts : {3, 8}) {
        LinkSurvey links = sound_links(hosts);
        set_pair(links, 0, 2, 11e6);
        // Both hosts of the slow pair have a healthy link, so neither is to blame alone.
        expect_only(links, sound_survey(hosts), true, {},
                    "the link between node1 and node3 is slow: 11.0 MB/s");
    }
}

TEST(HostLinks, ReportsHostBehindBadCable) {
    for (const int hosts : {3, 8}) {
        LinkSurvey links = sound_links(hosts);
        for (std::size_t other = 0; other < static_cast<std::size_t>(hosts); ++other)
            set_pair(links, 1, other, 11e6);
        HostSurvey survey = sound_survey(hosts);
        survey.visits[1].report->interfaces[0].gb_per_s = 0.1;
        expect_only(links, survey, true, {"node2"}, "eth0 runs at 0.1 Gb/s, that of node1 at 1 Gb/s");
    }
}

TEST(HostLinks, RemarksOnSlowerCardAtFullSpeed) {
    LinkSurvey links = sound_links(3);
    for (auto& row : links.bytes_per_s) row.assign(3, 1.1e9);
    for (std::size_t other = 0; other < 3; ++other) set_pair(links, 2, other, 117e6);
    HostSurvey survey = sound_survey(3);
    for (std::size_t i : {0, 1}) survey.visits[i].report->interfaces[0].gb_per_s = 10;
    expect_only(links, survey, false, {"node3"}, "the links to all other hosts are slow");
}

TEST(HostLinks, ReportsAsymmetricLink) {
    LinkSurvey links = sound_links(3);
    links.bytes_per_s[0][1] = 45e6;  // not slow enough on its own
    links.bytes_per_s[1][0] = 200e6;
    expect_only(links, sound_survey(3), true, {},
                "node1 to node2 reaches only 45.0 MB/s, the reverse direction 200 MB/s");
}

TEST(HostLinks, RemarksOnLinksFarBelowCardSpeed) {
    LinkSurvey links = sound_links(2);
    HostSurvey survey = sound_survey(2);
    for (HostVisit& visit : survey.visits) visit.report->interfaces[0].gb_per_s = 10;
    expect_only(links, survey, false, {}, "reaches only 117 MB/s of the 1.2 GB/s");
}

TEST(HostLinks, RemarksOnUnusedFasterNetwork) {
    const LinkSurvey links = sound_links(2);
    HostSurvey survey = sound_survey(2);
    for (HostVisit& visit : survey.visits) visit.report->rdma_ports = {{"mlx5_0", 1, "ACTIVE", 100}};
    expect_only(links, survey, false, {"node1", "node2"},
                "messages went over eth0 (1 Gb/s), but the host has mlx5_0 (100 Gb/s)");
    for (HostVisit& visit : survey.visits) visit.report->rdma_ports[0].state = "DOWN";
    EXPECT_TRUE(judge_links(links, survey).empty());
}

TEST(HostLinks, RemarksOnHostsThatShareAMachine) {
    LinkSurvey links = sound_links(2);
    for (LinkEnd& end : links.ends) end.device = "";
    expect_only(links, sound_survey(2), false, {"node1", "node2"}, "share one machine");
}

TEST(HostLinks, ReadsProgressLines) {
    LinkSurvey survey = sound_links(3);
    survey.ends.clear();
    for (auto& row : survey.bytes_per_s) row.assign(3, 0);
    for (auto& row : survey.latency_us) row.assign(3, 0);
    const auto say = [&](const std::string& json) { return take_in("voltpile-hosts: " + json, survey); };
    EXPECT_FALSE(take_in("something that a library prints", survey));
    EXPECT_FALSE(say("{\"ring_us\": 12.5}"));
    EXPECT_DOUBLE_EQ(survey.ring_hop_us, 12.5);
    EXPECT_FALSE(say("{\"begin\": [0, 2]}"));
    EXPECT_EQ(survey.stuck, std::make_pair(0, 2));
    EXPECT_FALSE(survey.small_messages_pass);
    say("{\"latency_us\": 7}");
    EXPECT_TRUE(survey.small_messages_pass);
    say("{\"bytes_per_s\": [1e6, 5e6]}");
    EXPECT_FALSE(survey.stuck);
    EXPECT_DOUBLE_EQ(survey.bytes_per_s[0][2], 1e6);
    EXPECT_DOUBLE_EQ(survey.bytes_per_s[2][0], 5e6);
    // Repeated measurements: the best counts.
    say("{\"begin\": [0, 2]}");
    say("{\"latency_us\": 9}");
    say("{\"bytes_per_s\": [3e6, 4e6]}");
    EXPECT_DOUBLE_EQ(survey.latency_us[2][0], 7);
    EXPECT_DOUBLE_EQ(survey.bytes_per_s[0][2], 3e6);
    EXPECT_DOUBLE_EQ(survey.bytes_per_s[2][0], 5e6);
    EXPECT_TRUE(say("{\"ends\": [{\"hostname\": \"a\", \"transport\": \"TCP\", \"device\": \"eth0\"}]}"));
    EXPECT_EQ(survey.ends.at(0).device, "eth0");
}

TEST(HostLinks, ReportsStuckPair) {
    LinkSurvey links = sound_links(3);
    links.failure = "mpirun stopped responding and was ended";
    links.stuck = {0, 2};
    expect_only(links, sound_survey(3), true, {}, "no MPI message got through between node1 and node3");
    links.small_messages_pass = true;
    HostSurvey survey = sound_survey(3);
    survey.visits[2].report->interfaces[0].mtu = 9000;
    expect_only(links, survey, true, {},
                "large ones get stuck (eth0 has MTU 1500 on node1 and 9000 on node3)");
    links.stuck.reset();
    expect_only(links, sound_survey(3), true, {}, "mpirun does not work over all hosts");
}

TEST(HostLinks, LimitsTotalMeasuringTime) {
    EXPECT_DOUBLE_EQ(seconds_per_pair(3), 0.2);
    for (const std::size_t hosts : {10u, 20u, 40u})
        EXPECT_LE(seconds_per_pair(hosts) * static_cast<double>(hosts * (hosts - 1) / 2), 10.001) << hosts;
}
