#include "cluster/hosts/report_json.h"
#include "cluster/hosts/report_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "unit/cluster/host_fixtures.h"

using namespace voltpile;

TEST(HostText, NumbersFindingsInTable) {
    HostSurvey survey = sound_survey(3);
    survey.visits[1].clock_offset_s = 5;
    survey.visits[1].report->folder = {};
    survey.visits[2].report.reset();
    survey.visits[2].access = Access::Refused;
    survey.visits[2].connections.clear();
    const auto findings = judge_hosts(survey);
    EXPECT_EQ(host_table(survey, findings, false),
              "host          state     cores  memory   GPUs                     network      clock           "
              " voltpile\n"
              "node1 (here)  ok        16     64.0 GB  4x Tesla V100-SXM2-16GB  eth0 1 Gb/s  reference       "
              " 0.1.0 (1a2b3c)\n"
              "node2         fix 2, 3  16     64.0 GB  4x Tesla V100-SXM2-16GB  eth0 1 Gb/s  +5.00 s +- 0 us "
              " 0.1.0 (1a2b3c)\n"
              "node3         fix 1\n");
    EXPECT_NE(host_table(survey, findings, true).find("\033[31m"), std::string::npos);
    const std::string text = finding_text(findings, false);
    EXPECT_EQ(text.find("What to fix\n  1. node3: ssh connections are refused"), 0u) << text;
    EXPECT_NE(text.find("\n  2. node2: there is no folder /shared\n       -> "), std::string::npos) << text;
}

TEST(HostText, PrintsMatrixAndCardSpeed) {
    LinkSurvey links = sound_links(2);
    links.bytes_per_s[0][1] = 99e6;
    EXPECT_EQ(link_text(links, sound_survey(2)),
              "bandwidth from (row) to (column)\n"
              "          node1      node2\n"
              "node1         -  99.0 MB/s\n"
              "node2  117 MB/s          -\n"
              "\n"
              "latency\n"
              "       node1  node2\n"
              "node1      -  50 us\n"
              "node2  50 us      -\n"
              "\n"
              "A token passed around the ring of all hosts takes 50 us per hop.\n"
              "Transport: TCP over eth0 (1 Gb/s).\n"
              "The slowest card, eth0 of node1, can do 1 Gb/s = 125 MB/s.\n");
}

TEST(HostText, SummarizesManyHosts) {
    LinkSurvey links = sound_links(40);
    set_pair(links, 7, 30, 2e6);
    const std::string text = link_text(links, sound_survey(40));
    EXPECT_LT(std::ranges::count(text, '\n'), 50);
    EXPECT_NE(text.find("node8       2.0 MB/s  node31"), std::string::npos) << text;
    for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
        EXPECT_LT(text.find('\n', begin) - begin, 120u);
}

TEST(HostText, WritesJson) {
    HostSurvey survey = sound_survey(2);
    survey.visits[1].clock_offset_s = 2;
    const auto json = survey_json(survey, std::nullopt, judge_hosts(survey));
    EXPECT_FALSE(json["ok"].get<bool>());
    EXPECT_TRUE(json["links"].is_null());
    EXPECT_EQ(json["findings"][0]["hosts"][0], "node2");
    EXPECT_EQ(json["hosts"][1]["clock_offset_s"], 2);
    EXPECT_EQ(survey_json(survey, sound_links(2), {})["links"]["bytes_per_s"][0][1], 117e6);
}

TEST(HostReport, RoundTripsThroughJson) {
    const HostReport sent = *sound_survey(2).visits[1].report;
    const HostReport got = parse_host_report(nlohmann::json::parse(to_json(sent).dump()));
    EXPECT_EQ(to_json(got), to_json(sent));
    EXPECT_EQ(got.interfaces.at(0).addresses.at(0), "10.0.0.2");
    EXPECT_EQ(got.gpus.size(), 4u);
    // Reports of other versions have fewer or more keys.
    EXPECT_EQ(parse_host_report(nlohmann::json::parse("{\"hostname\": \"x\", \"new\": 1}")).hostname, "x");
    EXPECT_ANY_THROW(parse_host_report(nlohmann::json::parse("{\"cores\": \"many\"}")));
}
