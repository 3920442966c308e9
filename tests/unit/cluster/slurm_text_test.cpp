#include "cluster/slurm/text.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace voltpile;

TEST(SlurmText, KeepsSpacesAndEqualSignsInValues) {
    // Slurm 22.05.8.
    const SlurmRecord record(
        "NodeName=node1 Arch=x86_64 CoresPerSocket=4  CPUAlloc=0 CPUEfctv=4 CPUTot=4 CPULoad=1.98 "
        "AvailableFeatures=(null) Gres=gpu:fake:4 OS=Linux 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian  "
        "RealMemory=4000 "
        "CfgTRES=cpu=4,mem=4000M,billing=4 AllocTRES= Reason=fan=dead, see ticket 7 "
        "[root@2026-11-20T15:02:08]");
    EXPECT_EQ(record.text("NodeName"), "node1");
    EXPECT_EQ(record.integer("CoresPerSocket"), 4);
    EXPECT_EQ(record.text("OS"), "Linux 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian");
    EXPECT_EQ(record.integer("RealMemory"), 4000);
    EXPECT_EQ(record.text("CfgTRES"), "cpu=4,mem=4000M,billing=4");
    EXPECT_EQ(record.text("AllocTRES"), "");
    EXPECT_EQ(record.text("AvailableFeatures"), "");
    EXPECT_EQ(record.text("NoSuchKey"), "");
    EXPECT_EQ(record.integer("NodeName"), 0);
}

TEST(SlurmText, FirstOfDuplicateKeysWins) {
    EXPECT_EQ(SlurmRecord("JobState=RUNNING Comment=JobState=FAILED JobState=FAILED").text("JobState"),
              "RUNNING");
}

TEST(SlurmText, ReadsOneRecordPerLine) {
    EXPECT_EQ(parse_records("NodeName=a State=IDLE \nNodeName=b State=DOWN*\n\n").size(), 2u);
    EXPECT_TRUE(parse_records("").empty());
    EXPECT_TRUE(parse_records("No nodes in the system\n").empty());
}

TEST(SlurmText, ReadsConfigurationByName) {
    const char* text =
        "MaxArraySize            = 1001\nMaxJobCount             = 10000\nMaxMemPerNode = UNLIMITED\n";
    EXPECT_EQ(config_integer(text, "MaxArraySize"), 1001);
    EXPECT_EQ(config_integer(text, "MaxJobCount"), 10000);
    EXPECT_EQ(config_integer(text, "MaxMemPerNode"), std::nullopt);
    EXPECT_EQ(config_integer(text, "MaxArray"), std::nullopt);
}

TEST(SlurmText, ParsesAllDocumentedTimes) {
    // sbatch(1): "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours", "days-hours:minutes"
    // and "days-hours:minutes:seconds".
    EXPECT_EQ(parse_slurm_time("90"), 5400);
    EXPECT_EQ(parse_slurm_time("1:30"), 90);
    EXPECT_EQ(parse_slurm_time("2:00:05"), 7205);
    EXPECT_EQ(parse_slurm_time("1-12"), 129600);
    EXPECT_EQ(parse_slurm_time("1-12:30"), 131400);
    EXPECT_EQ(parse_slurm_time("2-00:00:10"), 172810);
    EXPECT_TRUE(std::isinf(parse_slurm_time("UNLIMITED").value()));
    EXPECT_TRUE(std::isinf(parse_slurm_time("infinite").value()));
    for (const char* wrong :
         {"", "soon", "1:2:3:4", "-5", "1-", "1-a", ":", "1::2", "5 ", "1.5", "1-1:1:1:1"})
        EXPECT_FALSE(parse_slurm_time(wrong)) << wrong;
}

TEST(SlurmText, WritesTimesThatParseBack) {
    EXPECT_EQ(slurm_time_text(90), "00:01:30");
    EXPECT_EQ(slurm_time_text(86399.2), "1-00:00:00");
    EXPECT_EQ(slurm_time_text(131400), "1-12:30:00");
    EXPECT_EQ(slurm_time_text(HUGE_VAL), "UNLIMITED");
    for (double seconds : {60.0, 3599.0, 86400.0, 1234567.0})
        EXPECT_EQ(parse_slurm_time(slurm_time_text(seconds)), seconds);
}

TEST(SlurmText, ParsesGresTypesAndSockets) {
    // Output of scontrol show node on machines with GPUs, from Slurm's documentation and mailing list.
    const auto v100 = parse_gres("gpu:v100:4(S:0-1)");
    ASSERT_EQ(v100.size(), 1u);
    EXPECT_EQ(v100[0].type, "v100");
    EXPECT_EQ(v100[0].count, 4);
    EXPECT_EQ(v100[0].sockets, (std::vector<int>{0, 1}));

    const auto mixed = parse_gres("gpu:tesla_v100-sxm2-16gb:2(S:0,2),nvme:1(S:1),gpu:p100:1,mps:400,gpu:3");
    ASSERT_EQ(mixed.size(), 3u);
    EXPECT_EQ(mixed[0].type, "tesla_v100-sxm2-16gb");
    EXPECT_EQ(mixed[0].sockets, (std::vector<int>{0, 2}));
    EXPECT_EQ(mixed[1].type, "p100");
    EXPECT_TRUE(mixed[1].sockets.empty());
    EXPECT_EQ(mixed[2].type, "");
    EXPECT_EQ(mixed[2].count, 3);

    EXPECT_EQ(parse_gres("gpu").at(0).count, 1);
    EXPECT_TRUE(parse_gres("").empty());
    EXPECT_TRUE(parse_gres("shard:v100:8(S:0)").empty());
    EXPECT_TRUE(parse_gres("gpu:a100:0").empty());
}
