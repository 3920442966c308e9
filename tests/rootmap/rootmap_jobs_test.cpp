// Job files of root maps, right and wrong.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "job/job_spec.h"
#include "rootmap/keys.h"

namespace voltpile {
namespace {

const std::vector<AppSchema> rootmap_only{rootmap_schema()};

// Returns what is wrong with a job: `map` in [map], `rest` after a valid [iterate].
std::string complaint_of(const std::string& map, const std::string& rest = "") {
    const std::string text = "app = \"rootmap\"\n[map]\n" + map + "\n[iterate]\nmax_iterations = 9\n" + rest;
    try {
        parse_job(text, "j", {}, rootmap_only);
    } catch (const JobError& error) {
        return error.what();
    }
    return "accepted";
}

const char* const kNewton = "method = \"newton\"\npolynomial = \"z^2 - 1\"";
const char* const kHenon = "method = \"henon\"";

TEST(RootmapJobs, AreValid) {
    int jobs = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(VOLTPILE_SOURCE_DIR) / "jobs/rootmap")) {
        EXPECT_NO_THROW(load_job(entry.path().string(), {}, rootmap_only)) << entry.path();
        ++jobs;
    }
    EXPECT_GE(jobs, 8);
}

TEST(RootmapJobs, MatchTheExampleInTheHelp) {
    const auto published =
        load_job(VOLTPILE_SOURCE_DIR "/jobs/rootmap/newton_quintic.toml", {}, rootmap_only);
    EXPECT_EQ(parse_job(rootmap_only[0].example, "example", {}, rootmap_only).fingerprint(),
              published.fingerprint());
    EXPECT_EQ(published.point_count(), 2700 * 1500);
    EXPECT_EQ(published.integer("iterate.max_iterations"), 45);
}

TEST(RootmapJobs, NameWhatIsWrong) {
    EXPECT_EQ(complaint_of(kNewton), "accepted");
    EXPECT_EQ(complaint_of("method = \"newton\""),
              "j:3: method \"newton\" needs map.polynomial or map.coefficients");
    EXPECT_EQ(complaint_of("method = \"newton\"\npolynomial = \"z +* 1\""),
              "j:4: map.polynomial: expected a number, z, i or '(', at character 4\n    z +* 1\n       ^");
    EXPECT_EQ(complaint_of("method = \"newton\"\npolynomial = \"z - z + 3\""),
              "j:4: the polynomial has degree 0, so there is no root to seek");
    EXPECT_EQ(complaint_of("method = \"newton\"\ncoefficients = [4.0, 0.0]"),
              "j:4: the polynomial has degree 0, so there is no root to seek");
    EXPECT_EQ(complaint_of("method = \"henon\"\npolynomial = \"z\""),
              "j:4: method \"henon\" has no polynomial: leave out map.polynomial");
    EXPECT_EQ(complaint_of(kNewton, "[output]\nfields = [\"distance\"]"),
              "j:8: method \"newton\" does not provide distance");
    EXPECT_EQ(complaint_of(kHenon, "[output]\nfields = [\"root\"]"),
              "j:7: method \"henon\" does not provide root");
    EXPECT_EQ(
        complaint_of(kHenon, "[[sweep]]\nparameter = \"map.c\"\nname = \"c\"\nfrom = 0\nto = 1\ncount = 3"),
        "j:7: method \"henon\" does not use map.c");
    EXPECT_EQ(
        complaint_of("method = \"mandelbrot\"\ncenter = [\"1.5\", \"2 i\"]", "precision = \"perturbation\""),
        "j:4: map.center[1] = \"2 i\": expected a decimal number, such as \"-0.75\"");
    EXPECT_EQ(complaint_of("method = \"julia\"", "precision = \"perturbation\""),
              "j:6: method \"julia\" has no perturbation: only mandelbrot");
    EXPECT_EQ(complaint_of("method = \"clifford\"", "precision = \"fp32\""),
              "j:6: method \"clifford\" computes in fp64 only");
}

}  // namespace
}  // namespace voltpile
