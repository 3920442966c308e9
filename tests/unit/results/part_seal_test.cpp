// Tests that a seal vouches for exactly the bytes that were sealed, and that parts without one are used too.
#include "results/parts/part_seal.h"

#include <cstring>

#include "job/fingerprint.h"
#include "results/parts/part_file.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

class PartSealTest : public testing::Test {
  protected:
    PartSealTest() {
        std::filesystem::create_directory(parts);
        commit_all(parts, layout, {0, 4, 9, 15});
    }

    bool is_intact(const std::string& content, WorkRange range = {4, 9}) const {
        write_text_file(folder.path() / "copy", content);
        return PartSealer(layout).is_intact(folder.path() / "copy", range);
    }

    template <class T>
    T stored(std::size_t at) const {
        T value;
        std::memcpy(&value, whole().data() + whole().size() - kSealBytes + at, sizeof value);
        return value;
    }

    std::string whole() const { return file_text(path); }

    TemporaryFolder folder{memory_path()};
    std::filesystem::path parts = folder.path() / "parts";
    ResultLayout layout = layout_of(some_axes({5, 3}), all_kinds_of_fields());
    std::filesystem::path path = parts / "part-000000000004-000000000009.h5";
};

TEST_F(PartSealTest, HasTheDocumentedFormat) {
    EXPECT_EQ(whole().substr(whole().size() - kSealBytes, 8), "VPSEAL01");
    EXPECT_EQ(stored<std::int64_t>(8), 4);
    EXPECT_EQ(stored<std::int64_t>(16), 9);
    EXPECT_EQ(stored<std::int64_t>(24), static_cast<std::int64_t>(whole().size() - kSealBytes));
    const std::string hash = hash_128(whole().substr(0, whole().size() - 16));  // the high half first
    EXPECT_EQ(stored<std::uint64_t>(56), std::stoull(hash.substr(0, 16), nullptr, 16));
    EXPECT_EQ(stored<std::uint64_t>(48), std::stoull(hash.substr(16), nullptr, 16));
}

TEST_F(PartSealTest, VouchesForACommittedPart) {
    EXPECT_TRUE(is_intact(whole()));
}

TEST_F(PartSealTest, FitsNoOtherRangeLayoutOrSweep) {
    EXPECT_FALSE(is_intact(whole(), {4, 8}));
    EXPECT_FALSE(is_intact(whole(), {9, 15}));
    ResultLayout other = layout;
    other.fingerprint = "ffffffffffffffffffffffffffffffff";
    EXPECT_FALSE(PartSealer(other).is_intact(path, {4, 9}));
    other = layout;
    other.fields[0].type = FieldType::Int64;
    EXPECT_FALSE(PartSealer(other).is_intact(path, {4, 9}));
    other = layout;
    other.axes[1].count = 1;  // 5 points
    EXPECT_FALSE(PartSealer(other).is_intact(path, {4, 9}));
}

TEST_F(PartSealTest, BreaksWithAnyFlippedBit) {
    const std::string content = whole();
    for (std::size_t i = 0; i < content.size(); ++i) {
        std::string damaged = content;
        damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
        ASSERT_FALSE(is_intact(damaged)) << "byte " << i << " of " << content.size();
    }
}

TEST_F(PartSealTest, BreaksIfThePartIsCutOrGrows) {
    const std::string content = whole();
    for (std::size_t size = 0; size < content.size(); size += 7)
        ASSERT_FALSE(is_intact(content.substr(0, size))) << size;
    EXPECT_FALSE(is_intact(content + '\0'));
    EXPECT_FALSE(is_intact(content + content.substr(content.size() - kSealBytes)));
}

TEST_F(PartSealTest, IsNoneForWhatIsNoFile) {
    const PartSealer sealer(layout);
    EXPECT_FALSE(sealer.is_intact(folder.path(), {4, 9}));
    EXPECT_FALSE(sealer.is_intact(folder.path() / "absent", {4, 9}));
    EXPECT_FALSE(sealer.is_intact("/dev/zero", {4, 9}));
}

// As versions before 0.2.0 wrote them.
TEST_F(PartSealTest, IsNotNeeded) {
    for (const auto& entry : std::filesystem::directory_iterator(parts))
        if (entry.is_regular_file())
            std::filesystem::resize_file(entry, std::filesystem::file_size(entry) - kSealBytes);
    EXPECT_FALSE(PartSealer(layout).is_intact(path, {4, 9}));
    const PartScan scan = scan_parts(parts, layout);
    EXPECT_TRUE(scan.completed.contains(layout.whole()));
    EXPECT_TRUE(scan.rejected.empty());
}

// Enough for several threads.
TEST_F(PartSealTest, RestartsFindTheDamagedOneOfManyParts) {
    layout = layout_of(some_axes({700}), {field("steps", FieldType::Int32)});
    for (const auto& entry : std::filesystem::directory_iterator(parts))
        if (entry.is_regular_file()) std::filesystem::remove(entry);
    std::vector<std::int64_t> bounds;
    for (std::int64_t i = 0; i <= 700; ++i) bounds.push_back(i);
    commit_all(parts, layout, bounds);
    const auto damaged = parts / part_name({650, 651});
    std::string content = file_text(damaged);
    const FieldBuffer data = bytes_of(layout, 0, {650, 651});
    const auto at = content.rfind(std::string(reinterpret_cast<const char*>(data.data()), data.size()));
    ASSERT_NE(at, std::string::npos);
    content[at] = static_cast<char>(content[at] ^ 1);
    write_text_file(damaged, content);
    const PartScan scan = scan_parts(parts, layout);
    ASSERT_EQ(scan.rejected.size(), 1u);
    EXPECT_EQ(scan.rejected[0].path, damaged);
    EXPECT_EQ(scan.completed.ranges(), (std::vector<WorkRange>{{0, 650}, {651, 700}}));
    EXPECT_EQ(scan.parts.size(), 699u);
}

}  // namespace
}  // namespace voltpile
