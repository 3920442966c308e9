#include "plot/telemetry_plot.h"

#include <set>

#include "unit/plot/png_fixtures.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

class TelemetryPlot : public testing::Test {
  protected:
    // Draws a constant temperature at these times and returns the columns of pixels that its line covers.
    std::set<std::int64_t> columns_of_line(const std::vector<double>& times_s) {
        NodeTelemetry node;
        node.host = "node1";
        node.times_s = times_s;
        node.columns = {
            {"temperature_c", "degree_Celsius", "0000:15:00.0", std::vector<double>(times_s.size(), 50.0)}};
        const auto png = folder.path() / "telemetry.png";
        plot_telemetry({node}, folder.path() / "map.h5", png);
        const Picture picture = read_png(png);
        constexpr Rgb first_line{0, 114, 178};
        std::set<std::int64_t> columns;
        for (std::int64_t x = left; x < left + width; ++x)
            for (std::int64_t y = 0; y < picture.height; ++y)
                if (picture.at(x, y) == first_line) columns.insert(x);
        return columns;
    }

    static constexpr std::int64_t left = 90, width = 1000;  // of the charts
    TemporaryFolder folder;
};

TEST_F(TelemetryPlot, ConnectsSamplesThatAreMinutesApart) {
    EXPECT_GE(columns_of_line({0, 300, 600, 900, 1200}).size(), 990u);
}

TEST_F(TelemetryPlot, LeavesAGapBetweenTwoRuns) {
    // Each run covers a tenth of the chart.
    const auto columns = columns_of_line({0, 50, 100, 900, 950, 1000});
    EXPECT_GE(columns.size(), 195u);
    EXPECT_LE(columns.size(), 210u);
    EXPECT_FALSE(columns.contains(left + width / 2));
}

}  // namespace
}  // namespace voltpile
