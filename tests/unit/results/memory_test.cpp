// Memory must not grow with the sweep.
#include <fstream>

#include "plot/plot.h"
#include "results/show.h"
#include "results/statistics.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

// Peak resident memory of this process since the last reset, MB.
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

// Blocks of 4 MiB, HDF5's caches and the libraries' pages make about 20 MB; the least field of these tests is
// 64 MB.
constexpr int bound_mb = 40;
constexpr std::int64_t points = 1 << 24;

// How much the peak grows while the body runs in a process of its own.
int growth_mb(const std::function<void()>& body) {
    return run_in_child([&] {
        const double before = peak_mb();
        body();
        return std::min(90, static_cast<int>(peak_mb() - before));  // 99 is an exception
    });
}

// In a process of its own, so that the peaks measured later do not start from its own. The first field counts
// parts.
void commit_in_child(const std::filesystem::path& result, const ResultLayout& layout) {
    ASSERT_EQ(run_in_child([&] {
                  const PartFolder owner(result, layout, PartFolder::IfOther::Refuse);
                  for (std::int64_t at = 0; at < points; at += 1 << 21) {
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

TEST(Memory, OfConsolidationAndShowIsBounded) {
    if (sanitizer_keeps_freed_memory()) GTEST_SKIP();
    TemporaryFolder folder;
    const auto result = folder.path() / "line.h5";
    // One axis, so that its coordinates are as large as a field.
    const ResultLayout layout = layout_of(
        {axis("x", 0, 1, points)}, {field("steps", FieldType::Int32), field("energy", FieldType::Float64)});
    commit_in_child(result, layout);
    EXPECT_LT(growth_mb([&] {
                  const PartScan scan = scan_parts(parts_path(result), layout);
                  consolidate(result, layout, scan.parts, some_provenance());
                  show_text(ResultReader(result));
              }),
              bound_mb);
    EXPECT_EQ(field_statistics(ResultReader(result), layout.fields[0]).mean(),
              3.5);  // of 0 ... 7, equally often
}

TEST(Memory, OfPlotIsBounded) {
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
