#include "results/telemetry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace voltpile;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

NodeTelemetry hundred_seconds(const std::vector<double>& energy_j) {
    NodeTelemetry node;
    node.host = "node1";
    node.times_s = {1000, 1005, 1095, 1100};
    node.columns = {{"power_w", "W", "0000:15:00.0", {200, 200, 200, 200}},
                    {"energy_j", "J", "0000:15:00.0", energy_j}};
    return node;
}

}  // namespace

TEST(Telemetry, PowerComesFromCountersThatSpanTheRun) {
    const GpuPower power = gpu_power({hundred_seconds({5000, kNone, 5000 + 95 * 210.0, kNone})});
    EXPECT_EQ(power.gpus, 1);
    EXPECT_DOUBLE_EQ(power.energy_j, 95 * 210.0);
    EXPECT_DOUBLE_EQ(power.mean_w, 210);
}

TEST(Telemetry, PowerIsIntegratedWhereCountersSpanLess) {
    for (const std::vector<double>& energy :
         {std::vector<double>{5000, 5900, kNone, kNone}, std::vector<double>{kNone, kNone, kNone, kNone}}) {
        const GpuPower power = gpu_power({hundred_seconds(energy)});
        EXPECT_DOUBLE_EQ(power.energy_j, 100 * 200.0);
        EXPECT_DOUBLE_EQ(power.mean_w, 200);
    }
}

TEST(Telemetry, CsvKeepsWhatIsKnown) {
    const NodeTelemetry node = hundred_seconds({5000, kNone, 6000.5, kNone});
    const auto again = telemetry_from_csv(telemetry_csv(node) + "1105.000,2");  // cut off by a kill
    ASSERT_TRUE(again);
    EXPECT_EQ(again->host, "node1");
    EXPECT_EQ(again->times_s, node.times_s);
    ASSERT_EQ(again->columns.size(), 2u);
    EXPECT_EQ(again->columns[1].unit, "J");
    EXPECT_EQ(again->columns[1].device, "0000:15:00.0");
    EXPECT_EQ(again->columns[1].values[2], 6000.5);
    EXPECT_TRUE(std::isnan(again->columns[1].values[3]));
    EXPECT_FALSE(telemetry_from_csv("time,power\n1,2\n"));
}

TEST(Telemetry, CsvGrowsByPieces) {
    NodeTelemetry first{"", "node1", {1000}, {{"power_w", "W", "gpu0", {200}}}};
    NodeTelemetry second{
        "", "node1", {1001}, {{"power_w", "W", "gpu0", {210}}, {"energy_j", "J", "gpu0", {5}}}};
    NodeTelemetry third{"", "node1", {1002, 1003}, {{"power_w", "W", "gpu0", {220, kNone}}}};
    TelemetryCsv csv;
    for (const NodeTelemetry& piece : {first, second, third}) csv.add(piece);
    EXPECT_EQ(csv.rows(), 4u);
    EXPECT_EQ(csv.text(),
              "# node1\n"
              "time_s|s|,power_w|W|gpu0,energy_j|J|gpu0\n"
              "1000.000,200,\n"
              "1001.000,210,5\n"
              "1002.000,220,\n"
              "1003.000,,\n");
}
