// Repairing finished and unfinished results: what is intact stays, and the rest is named.
#include "results/repair.h"

#include "results/open_result.h"
#include "results/parts/part_listing.h"
#include "results/result_reader.h"
#include "results/verify.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;
using IfOther = PartFolder::IfOther;

class RepairResult : public testing::Test {
  protected:
    Repair repair(RepairMode mode = RepairMode::Do) {
        return repair_result(result, mode, "voltpile repair map.h5");
    }

    std::string all_text(const Repair& made) {
        std::string text;
        for (const auto& each : made.done) text += each + "\n";
        for (const auto& each : made.left) text += "left: " + each + "\n";
        return text;
    }
    void flip_byte_of(const std::filesystem::path& path, const std::string& where) {
        std::string bytes = file_text(path);
        const auto at = bytes.find(where);
        ASSERT_NE(at, std::string::npos);
        bytes[at] = static_cast<char>(bytes[at] ^ 1);
        write_text_file(path, bytes);
    }
    // The first bytes of a field's values at a point, which no other point has.
    std::string bytes_at(std::int64_t point) {
        const FieldBuffer values = bytes_of(layout, 0, {point, point + 4});
        return {reinterpret_cast<const char*>(values.data()), values.size()};
    }
    void expect_whole() {
        ASSERT_TRUE(verify_result(result).ok());
        const ResultReader reader(result);
        EXPECT_TRUE(reader.complete());
        const std::string bytes = file_text(result);
        const FieldBuffer expected = bytes_of(layout, 0, layout.whole());
        EXPECT_NE(bytes.find(std::string(reinterpret_cast<const char*>(expected.data()), expected.size())),
                  std::string::npos);
        EXPECT_FALSE(std::filesystem::exists(parts_path(result)));
    }

    TemporaryFolder folder{memory_path()};
    std::filesystem::path result = folder.path() / "map.h5";
    ResultLayout layout =
        layout_of(some_axes({1000, 300}), {field("energy", FieldType::Float64)});  // three blocks
    const std::vector<std::int64_t> bounds{0, 100'000, 100'001, 300'000};
};

TEST_F(RepairResult, LeavesIntactResultsAlone) {
    make_result(result, layout, bounds);
    const std::string before = file_text(result);
    for (const RepairMode mode : {RepairMode::Preview, RepairMode::Do}) EXPECT_EQ(all_text(repair(mode)), "");
    EXPECT_EQ(file_text(result), before);
    EXPECT_THROW(repair_result(folder.path() / "missing.h5", RepairMode::Do, ""), JobError);
    write_text_file(folder.path() / "letter.h5", "Dear reader");
    EXPECT_THROW(repair_result(folder.path() / "letter.h5", RepairMode::Do, ""), JobError);
}

TEST_F(RepairResult, KeepsIntactBlocksOfADamagedFile) {
    make_result(result, layout, bounds);
    flip_byte_of(result, bytes_at(200'000));
    const std::string damaged = file_text(result);
    const Repair preview = repair(RepairMode::Preview);
    EXPECT_EQ(preview.missing, 131'072);
    EXPECT_FALSE(std::filesystem::exists(parts_path(result)));

    const Repair made = repair();
    EXPECT_EQ(made.missing, 131'072);
    EXPECT_FALSE(made.finished);
    EXPECT_EQ(made.left, std::vector<std::string>{});
    EXPECT_EQ(file_text(result), damaged) << "it stays until the new result exists";
    {  // The next run computes the rest and replaces the file.
        const auto parts = open_result(result, layout, false, {});
        ASSERT_TRUE(parts);
        const PartScan scan = voltpile::scan_parts(parts->life(), layout, layout.whole());
        EXPECT_EQ(scan.completed.complement(layout.whole()).ranges(),
                  (std::vector<WorkRange>{{131'072, 262'144}}));
        voltpile::commit_part(parts->life(), layout, {131'072, 262'144}, data_of(layout, {131'072, 262'144}));
    }
    EXPECT_TRUE(repair().finished);
    expect_whole();
}

TEST_F(RepairResult, WritesCoordinatesAgain) {
    make_result(result, layout, bounds);
    const double first[4] = {-20, -19.96, -19.92, -19.88};  // of x: 40/1000 apart
    flip_byte_of(result, std::string(reinterpret_cast<const char*>(first), sizeof first));
    ASSERT_FALSE(verify_result(result).ok());
    EXPECT_TRUE(repair().finished);
    expect_whole();
}

TEST_F(RepairResult, ForgetsDamagedAttributesOfAFileThatItReplaces) {
    layout.notes.emplace_back("comment", "a note that no header checksum covers");
    make_result(result, layout, bounds);
    flip_byte_of(result, "a note that no");
    EXPECT_EQ(repair(RepairMode::Preview).left.size(), 1u) << "with intact values nothing replaces the file";
    flip_byte_of(result, bytes_at(200'000));
    EXPECT_EQ(repair(RepairMode::Preview).left, std::vector<std::string>{});
}

TEST_F(RepairResult, LeavesADamagedManifestToTheJob) {
    {
        PartFolder parts(result, layout, IfOther::Refuse);
        commit_all(parts.path(), layout, bounds);
    }
    const std::filesystem::path manifest = parts_path(result) / manifest_name;
    flip_byte_of(manifest, "the energy of the pair");
    const std::string damaged = file_text(manifest);
    EXPECT_EQ(repair().left.size(), 1u);
    EXPECT_EQ(file_text(manifest), damaged) << "a new checksum would hide the damage";
    EXPECT_FALSE(std::filesystem::exists(result));
    // The next run knows what belongs there.
    PartFolder(result, layout, IfOther::Refuse);
    EXPECT_TRUE(repair().finished);
    expect_whole();
}

TEST_F(RepairResult, MovesBadPartsAside) {
    {
        PartFolder parts(result, layout, IfOther::Refuse);
        commit_all(parts.path(), layout, bounds);
        commit_part(parts.life(), layout, {99'990, 100'010}, data_of(layout, {99'990, 100'010}));
        ResultLayout other = layout;
        other.fingerprint = "ffffffffffffffffffffffffffffffff";
        commit_part(parts.life(), other, {100'020, 100'030}, data_of(layout, {100'020, 100'030}));
        std::filesystem::copy(parts.path() / "part-000000100000-000000100001.h5",
                              parts.path() / "part-000000100040-000000100041.h5");
    }
    std::filesystem::create_directory(parts_path(result) / "life-9-0123456789abcdef");
    const auto before = names_in(parts_path(result));
    const Repair preview = repair(RepairMode::Preview);
    EXPECT_EQ(names_in(parts_path(result)), before);
    EXPECT_EQ(preview.missing, 0);
    const std::string text = all_text(preview);
    for (const char* said :
         {"life-9-0123456789abcdef",
          "part-000000099990-000000100010.h5: overlaps part-000000000000-000000100000.h5",
          "part-000000100020-000000100030.h5: of another job", "part-000000100040-000000100041.h5: misnamed"})
        EXPECT_NE(text.find(said), std::string::npos) << said << ": " << text;
    EXPECT_TRUE(repair().finished);
    expect_whole();
}

TEST_F(RepairResult, DropsACorruptPart) {
    {
        PartFolder parts(result, layout, IfOther::Refuse);
        commit_all(parts.path(), layout, bounds);
    }
    flip_byte_of(parts_path(result) / "part-000000000000-000000100000.h5", bytes_at(5));
    const Repair made = repair();
    EXPECT_EQ(made.missing, 100'000);
    EXPECT_FALSE(made.finished);
    EXPECT_TRUE(std::filesystem::exists(parts_path(result) / "part-000000000000-000000100000.h5.rejected"));
    EXPECT_EQ(verify_result(result).intact.size(), 200'000);
}

TEST_F(RepairResult, RefusesWhileARunIsWriting) {
    const PartFolder parts(result, layout, IfOther::Refuse);
    const auto [message, code] = error_of([&] { repair(); });
    EXPECT_EQ(code, ExitCode::CannotRun);
    EXPECT_NE(message.find("another run is writing"), std::string::npos) << message;
}

}  // namespace
}  // namespace voltpile
