// Tests that a restart uses every part that is whole, and no other.
#include "results/hdf5/attribute.h"
#include "results/parts/part_file.h"
#include "results/parts/part_seal.h"
#include "unit/results/result_fixtures.h"

#if defined(__SANITIZE_ADDRESS__)
// HDF5 1.10 leaks a few hundred bytes whenever it rejects a damaged file.
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libhdf5";
}
#endif

namespace voltpile {
namespace {

using namespace test;

class PartScanTest : public testing::Test {
  protected:
    PartScanTest() { commit_all(parts, layout, {0, 4, 9, 15}); }

    // Expects that the scan rejects exactly this part, for this reason, and renames it.
    void expect_rejected(const std::string& name, const std::string& reason) {
        const PartScan scan = scan_parts(parts, layout);
        ASSERT_EQ(scan.rejected.size(), 1u);
        EXPECT_EQ(scan.rejected[0].path, parts / name);
        EXPECT_NE(scan.rejected[0].reason.find(reason), std::string::npos) << scan.rejected[0].reason;
        EXPECT_FALSE(std::filesystem::exists(parts / name));
        EXPECT_TRUE(std::filesystem::exists(parts / (name + ".rejected")));
    }

    TemporaryFolder folder;
    std::filesystem::path parts = folder.path();
    ResultLayout layout = layout_of(some_axes({5, 3}), all_kinds_of_fields());
    std::string first = "part-000000000000-000000000004.h5";
    std::string middle = "part-000000000004-000000000009.h5";
};

TEST_F(PartScanTest, FindsAllParts) {
    const PartScan scan = scan_parts(parts, layout);
    ASSERT_EQ(scan.parts.size(), 3u);
    EXPECT_EQ(scan.parts[1].range, (WorkRange{4, 9}));
    EXPECT_EQ(scan.parts[1].path, parts / middle);
    EXPECT_TRUE(scan.completed.contains(layout.whole()));
    EXPECT_TRUE(scan.rejected.empty());
}

TEST_F(PartScanTest, LeavesAGapForAMissingPart) {
    std::filesystem::remove(parts / middle);
    const PartScan scan = scan_parts(parts, layout);
    EXPECT_EQ(scan.completed.ranges(), (std::vector<WorkRange>{{0, 4}, {9, 15}}));
    EXPECT_TRUE(scan.rejected.empty());
}

TEST_F(PartScanTest, RejectsATruncatedPart) {
    std::filesystem::resize_file(parts / middle, std::filesystem::file_size(parts / middle) - kSealBytes - 1);
    expect_rejected(middle, "truncated");
    EXPECT_EQ(scan_parts(parts, layout).completed.ranges(), (std::vector<WorkRange>{{0, 4}, {9, 15}}));
}

TEST_F(PartScanTest, RejectsAnEmptyPart) {
    std::filesystem::resize_file(parts / middle, 0);
    expect_rejected(middle, "cannot open");
}

TEST_F(PartScanTest, RejectsAPartOfAnotherJob) {
    ResultLayout other = layout;
    other.fingerprint = "ffffffffffffffffffffffffffffffff";
    commit_part(parts, other, {4, 9}, data_of(other, {4, 9}));
    expect_rejected(middle, "of another job: its fingerprint is ffffffffffffffffffffffffffffffff");
}

TEST_F(PartScanTest, RejectsAMisnamedPart) {
    std::filesystem::rename(parts / middle, parts / "part-000000000004-000000000008.h5");
    expect_rejected("part-000000000004-000000000008.h5", "misnamed: it holds the points [4, 9)");
    std::filesystem::rename(parts / first, parts / "part-zero.h5");
    expect_rejected("part-zero.h5", "misnamed");
}

TEST_F(PartScanTest, RejectsAnOverlappingPart) {
    commit_part(parts, layout, {3, 5}, data_of(layout, {3, 5}));
    expect_rejected("part-000000000003-000000000005.h5", "overlaps " + first);
    EXPECT_TRUE(scan_parts(parts, layout).completed.contains(layout.whole()));
}

TEST_F(PartScanTest, RejectsAPartBeyondTheSweep) {
    commit_part(parts, layout, {15, 16}, data_of(layout, {15, 16}));
    expect_rejected("part-000000000015-000000000016.h5", "outside of the sweep's 15 points");
}

TEST_F(PartScanTest, RejectsAPartWithOtherFields) {
    layout.fields[0].type = FieldType::Int64;
    const PartScan scan = scan_parts(parts, layout);
    EXPECT_EQ(scan.rejected.size(), 3u);
    EXPECT_TRUE(scan.completed.empty());
}

// A shard rejects only parts that begin in its interval, but counts all that reach into it.
TEST_F(PartScanTest, LeavesPartsOfOtherShardsAlone) {
    const Life life = life_in(parts);
    std::filesystem::resize_file(parts / first, 10);
    const PartScan last = voltpile::scan_parts(life, layout, {7, 12});
    EXPECT_EQ(last.completed.ranges(), (std::vector<WorkRange>{{7, 12}}));
    EXPECT_EQ(last.parts.size(), 2u);
    EXPECT_TRUE(last.rejected.empty());
    std::filesystem::resize_file(parts / middle, 10);  // begins at 4, in another shard
    const PartScan again = voltpile::scan_parts(life, layout, {7, 12});
    EXPECT_EQ(again.completed.ranges(), (std::vector<WorkRange>{{9, 12}}));
    EXPECT_TRUE(again.rejected.empty());
    EXPECT_TRUE(std::filesystem::exists(parts / middle));
    const PartScan owner = voltpile::scan_parts(life, layout, {4, 7});
    ASSERT_EQ(owner.rejected.size(), 1u);
    EXPECT_EQ(owner.rejected[0].path, parts / middle);
    EXPECT_TRUE(std::filesystem::exists(parts / first));
}

// Flip each byte in turn: either the part is rejected, or it reads as it was written (HDF5 leaves a few bytes
// of a file unused).
TEST_F(PartScanTest, SurvivesAnyFlippedByte) {
    const std::string whole = file_text(parts / middle);
    const std::vector<FieldBuffer> written = data_of(layout, {4, 9});
    std::size_t turned_down = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
        write_text_file(parts / middle, damaged);
        Hdf5Guard guard;
        try {
            const PartFile part(parts / middle, layout);
            part.verify();
            for (std::size_t f = 0; f < layout.fields.size(); ++f) {
                FieldBuffer read(written[f].size());
                part.read(f, {4, 9}, memory_type(layout.fields[f].type), read.data());
                ASSERT_EQ(read, written[f]) << "byte " << i << " of " << whole.size();
            }
        } catch (const FileError&) {
            ++turned_down;
        }
    }
    // Fields, attributes and their headers are most of the file; checksums must cover all of them.
    std::size_t bytes_of_data = 0;
    for (const FieldBuffer& each : written) bytes_of_data += each.size();
    EXPECT_GT(turned_down, bytes_of_data);
}

TEST_F(PartScanTest, RejectsAFlippedByteInTheData) {
    std::string damaged = file_text(parts / middle);
    const FieldBuffer data = bytes_of(layout, 3, {4, 9});  // occurs once in the file
    const auto at = damaged.find(std::string(reinterpret_cast<const char*>(data.data()), data.size()));
    ASSERT_NE(at, std::string::npos);
    damaged[at + 7] = static_cast<char>(damaged[at + 7] ^ 1);
    write_text_file(parts / middle, damaged);
    expect_rejected(middle, "checksum");
}

TEST(PartName, RoundTrip) {
    EXPECT_EQ(part_name({0, 1}), "part-000000000000-000000000001.h5");
    EXPECT_EQ(parse_part_name("part-000000000012-000000000034.h5"), (WorkRange{12, 34}));
    EXPECT_EQ(parse_part_name(part_name({1'000'000'000'000, 2'000'000'000'000'000})),
              (WorkRange{1'000'000'000'000, 2'000'000'000'000'000}));
    for (const char* name :
         {"part", "part-1-2.h5", "part-000000000012-000000000034.h5x", "part--00000000001-000000000002.h5",
          "part-000000000012_000000000034.h5", "Part-000000000012-000000000034.h5", ""}) {
        EXPECT_FALSE(parse_part_name(name)) << name;
    }
}

}  // namespace
}  // namespace voltpile
