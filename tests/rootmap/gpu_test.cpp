// The GPU kernels have the bits of the CPU's in every field; those equal numpy's (end_to_end.rootmap).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "device/device.h"
#include "job/job_spec.h"
#include "rootmap/cpu_targets.h"
#include "rootmap/keys.h"
#include "rootmap/problem_from_job.h"
#include "sweep/cpu_sweep.h"
#include "work/work_scheduler.h"
#if VOLTPILE_CUDA
#include "rootmap/gpu_program.h"
#include "sweep/gpu_sweep.h"
#endif

namespace voltpile::rootmap {
namespace {

const std::vector<AppSchema> kSchemas{rootmap_schema()};

// A job with all that its problem points to.
class RootmapJob {
  public:
    explicit RootmapJob(const JobSpec& job)
        : points(job.point_count()),
          problem(problem_from_job(job)),
          frames(set_frames(job, problem)),
          orbit(set_orbit(job, problem)),
          fields(fields_from_job(job, problem)) {}
    RootmapJob(const RootmapJob&) = delete;
    RootmapJob& operator=(const RootmapJob&) = delete;

    std::int64_t points;
    Problem problem;
    std::vector<double> frames, orbit;
    std::vector<OutcomeField> fields;
};

class GpuRootmap : public testing::Test {
  protected:
    void SetUp() override {
        if (device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
    }
};

using Sweep = std::function<void(WorkScheduler&, const SubmitRange&)>;

// Returns the values of all fields at all points, one field after another.
std::vector<FieldBuffer> values_of(const RootmapJob& job, const Sweep& sweep, std::int64_t range_points) {
    std::vector<FieldBuffer> values;
    for (const OutcomeField& field : job.fields)
        values.emplace_back(static_cast<std::size_t>(job.points) * field.spec.bytes_per_point());
    WorkScheduler work;
    for (std::int64_t i = 0; i < job.points; i += range_points)
        work.offer({i, std::min(job.points, i + range_points)});
    work.close();
    std::mutex mutex;
    sweep(work, [&](WorkRange range, std::vector<FieldBuffer> data) {
        const std::lock_guard lock(mutex);
        for (std::size_t f = 0; f < data.size(); ++f) {
            const std::size_t bytes = job.fields[f].spec.bytes_per_point();
            std::memcpy(values[f].data() + static_cast<std::size_t>(range.begin) * bytes, data[f].data(),
                        data[f].size());
        }
    });
    EXPECT_GT(work.progress().units, 0);
    return values;
}

// Computes the shipped job of this name, with changes, on the GPU and on a core.
void expect_equal_bits(const std::string& name, std::vector<std::string> changes) {
    SCOPED_TRACE(name);
    const std::string file = VOLTPILE_SOURCE_DIR "/jobs/rootmap/" + name + ".toml";
    const JobSpec shipped = load_job(file, changes, kSchemas);
    const char* count = ".count=150";
    for (const SweepAxis& axis : shipped.axes()) {
        if (&axis == frame_axis(shipped.axes())) continue;
        changes.push_back("sweep." + axis.name + count);
        count = ".count=200";
    }
    const JobSpec spec = load_job(file, changes, kSchemas);
    const RootmapJob job(spec);
    const auto on_core = values_of(
        job,
        [&](WorkScheduler& work, const SubmitRange& submit) {
            const CpuSweep kernel = cpu_sweep(usable_cpu_levels().front());
            sweep_on_cpu([&](PointStream& stream) { kernel(job.problem, stream); }, job.fields, {0}, work,
                         submit);
        },
        2000);
#if VOLTPILE_CUDA
    const auto on_gpu = values_of(
        job,
        [&](WorkScheduler& work, const SubmitRange& submit) {
            GpuSweep sweep([&] { return make_gpu_program(job.problem, job.frames); }, job.fields, 0, 100,
                           nullptr);
            sweep.run(work, submit);
        },
        4321);
    for (std::size_t f = 0; f < on_core.size(); ++f) {
        std::int64_t different = 0;
        const std::size_t bytes = job.fields[f].spec.bytes_per_point();
        for (std::int64_t i = 0; i < job.points; ++i) {
            const std::size_t at = static_cast<std::size_t>(i) * bytes;
            different += std::memcmp(on_core[f].data() + at, on_gpu[f].data() + at, bytes) != 0;
        }
        EXPECT_EQ(different, 0) << job.fields[f].spec.name;
    }
#endif
}

const std::string kRootFields = "output.fields=[\"iterations\",\"root\",\"smooth\",\"final_z\",\"quality\"]";
const std::string kEscapeFields = "output.fields=[\"iterations\",\"smooth\",\"final_z\",\"quality\"]";
const std::string kDistanceFields =
    "output.fields=[\"iterations\",\"smooth\",\"distance\",\"final_z\",\"quality\"]";
const std::string kHenonFields = "output.fields=[\"iterations\",\"final_z\",\"quality\"]";
const std::string kPeriodFields = "output.fields=[\"iterations\",\"period\",\"final_z\",\"quality\"]";

class EveryPrecision : public GpuRootmap, public testing::WithParamInterface<const char*> {};

TEST_P(EveryPrecision, HasTheBitsOfTheCpu) {
    const std::string precision = std::string("iterate.precision=\"") + GetParam() + "\"";
    expect_equal_bits("newton_quintic", {precision, kRootFields});
    expect_equal_bits("newton_quintic", {precision, kRootFields, "map.method=\"schroeder\""});
    expect_equal_bits("halley13", {precision, kRootFields});
    expect_equal_bits("secant_cubic", {precision, kRootFields});
    expect_equal_bits("mandelbrot", {precision, kEscapeFields});
    expect_equal_bits("mandelbrot", {precision, kDistanceFields});
    expect_equal_bits("julia", {precision, kEscapeFields});
    expect_equal_bits("julia", {precision, kDistanceFields});
    expect_equal_bits("burning_ship", {precision, kEscapeFields});
    expect_equal_bits("henon", {precision, kHenonFields});
}
INSTANTIATE_TEST_SUITE_P(Gpu, EveryPrecision, testing::Values("fp64", "fp32", "double-double"));

TEST_F(GpuRootmap, HasTheBitsOfTheCpuOnAttractors) {
    expect_equal_bits("clifford", {kPeriodFields});
}

TEST_F(GpuRootmap, HasTheBitsOfTheCpuInDeepZooms) {
    expect_equal_bits("mandelbrot_deep", {kEscapeFields});
    expect_equal_bits("mandelbrot_deep", {kDistanceFields});
}

// A multiple root divides by zero, and a start on the way to one takes many steps.
TEST_F(GpuRootmap, HasTheBitsOfTheCpuWhereDerivativesVanish) {
    expect_equal_bits("newton_quintic", {kRootFields, "map.polynomial=\"(z - 1)^3 z^2\""});
}

TEST_F(GpuRootmap, ComputesTheFramesOfAMovie) {
    expect_equal_bits("mandelbrot_zoom", {kEscapeFields, "frames.count=5"});
}

}  // namespace
}  // namespace voltpile::rootmap
