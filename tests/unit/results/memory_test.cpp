// Tests that memory does not grow with the sweep.
#include <algorithm>
#include <fstream>

#include "plot/plot.h"
#include "results/show.h"
#include "results/statistics.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

// Returns the peak resident memory of this process since the last reset, in MB.
double peak_mb() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
    }
    return 0;
}

bool sanitizer_keeps_freed_memory() {
#if defined(__SANITIZE_ADDRESS__)
    return true;
#else
    return false;
#endif
}

// Blocks of 4 MiB, HDF5's caches and the libraries' pages take about 20 MB; the smallest field of these tests
// has 64 MB.
constexpr int bound_mb = 40;
constexpr std::int64_t many_points = 1 << 24;

// Returns how much the peak grows while the body runs in a process of its own.
int growth_mb(const std::function<void()>& body) {
    return run_in_child([&] {
        const double before = peak_mb();
        body();
        return std::min(90, static_cast<int>(peak_mb() - before));  // 99 is an exception
    });
}

// Runs in a process of its own, so that later peaks do not start from its peak. The first field counts parts.
void commit_in_child(const std::filesystem::path& result, const ResultLayout& layout) {
    ASSERT_EQ(run_in_child([&] {
                  const PartFolder owner(result, layout, PartFolder::IfOther::Refuse);
                  for (std::int64_t at = 0; at < many_points; at += 1 << 21) {
                      std::vector<FieldBuffer> data;
                      data.push_back(
                          buffer(std::vector<std::int32_t>(1 << 21, static_cast<std::int32_t>(at >> 21))));
                      if (layout.fields.size() > 1)
                          data.push_back(buffer(std::vector<double>(1 << 21, 0.25)));
                      commit_part(owner.path(), layout, {at, at + (1 << 21)}, data);
                  }
                  return 0;
              }),
              0);
}

TEST(Memory, IsBoundedInConsolidationAndShow) {
    if (sanitizer_keeps_freed_memory()) GTEST_SKIP();
    TemporaryFolder folder;
    const auto result = folder.path() / "line.h5";
    // One axis, so that its coordinates take as much memory as a field.
    const ResultLayout layout =
        layout_of({axis("x", 0, 1, many_points)},
                  {field("steps", FieldType::Int32), field("energy", FieldType::Float64)});
    commit_in_child(result, layout);
    EXPECT_LT(growth_mb([&] {
                  const PartScan scan = scan_parts(parts_path(result), layout);
                  consolidate(result, layout, scan.parts, some_provenance());
                  show_text(ResultReader(result));
              }),
              bound_mb);
    EXPECT_EQ(field_statistics(ResultReader(result), layout.fields[0]).mean(),
              3.5);  // the mean of 0 ... 7
}

TEST(Memory, IsBoundedInPlot) {
    if (sanitizer_keeps_freed_memory()) GTEST_SKIP();
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    const ResultLayout layout = layout_of(some_axes({4096, 4096}), {field("steps", FieldType::Int32)});
    commit_in_child(result, layout);
    EXPECT_LT(growth_mb([&] { plot(ResultReader(result), {}); }), bound_mb);
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "map.png"));
}

}  // namespace
}  // namespace voltpile
