// Checksums of finished results and of parts: what they cover, and that every damage is found.
#include <algorithm>

#include "results/verify.h"

#include <fmt/format.h>

#include "results/hdf5/attribute.h"
#include "results/hdf5/checksum.h"
#include "results/result_reader.h"
#include "results/rows.h"
#include "results/show.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

std::span<const std::byte> bytes_in(std::string_view text) {
    return std::as_bytes(std::span(text));
}

// The check value of CRC-32/ISO-HDLC, and the CRC-32 of RFC 3720's 32 zero bytes as zlib.crc32 of Python has
// it.
TEST(Checksum, IsCrc32) {
    EXPECT_EQ(crc32_of(bytes_in("123456789")), 0xCBF43926u);
    EXPECT_EQ(crc32_of(std::vector<std::byte>(32)), 0x190A55ADu);
    EXPECT_EQ(crc32_of({}), 0u);
    EXPECT_EQ(crc32_of(bytes_in("6789"), crc32_of(bytes_in("12345"))), 0xCBF43926u);
}

TEST(Checksum, CombinesPiecesInAnyOrder) {
    const std::string_view whole = "123456789";
    std::vector<std::pair<std::int64_t, std::int64_t>> pieces{{0, 2}, {2, 3}, {3, 3}, {3, 7}, {7, 9}};
    std::sort(pieces.begin(), pieces.end());
    do {
        PiecewiseCrc32 crc;
        for (const auto& [begin, end] : pieces)
            if (begin < end)
                crc.add(begin, end,
                        bytes_in(whole.substr(static_cast<std::size_t>(begin),
                                              static_cast<std::size_t>(end - begin))));
        EXPECT_EQ(crc.value(), 0xCBF43926u);
    } while (std::next_permutation(pieces.begin(), pieces.end()));
    PiecewiseCrc32 gap;
    gap.add(0, 1, bytes_in("1"));
    gap.add(2, 3, bytes_in("3"));
    EXPECT_THROW(gap.value(), std::logic_error);
}

class Verify : public testing::Test {
  protected:
    // With texts and lists too, in three parts.
    void make() {
        PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
        for (const WorkRange range : {WorkRange{0, 40}, WorkRange{40, 41}, WorkRange{41, 1000}})
            commit_part(parts.life(), layout, range, data(range));
        consolidate(parts.life(), layout, scan_parts(parts.life(), layout, layout.whole()).parts,
                    some_provenance());
        parts.remove();
    }
    std::vector<FieldBuffer> data(WorkRange range) const {
        RowsBuilder texts, lists;
        for (std::int64_t i = range.begin; i < range.end; ++i) {
            texts.add(fmt::format("the text of point {}{}", i, i % 7 == 0 ? std::string(1, '\0') : ""));
            const std::vector<std::int32_t> list(static_cast<std::size_t>(i % 5),
                                                 static_cast<std::int32_t>(i));
            lists.add(std::span<const std::int32_t>(list));
        }
        return {bytes_of(layout, 0, range), bytes_of(layout, 1, range), texts.take(), lists.take()};
    }
    void edit(const std::function<void(hid_t)>& change) {
        Hdf5Guard guard;
        const Hdf5File file(H5Fopen(result.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
        change(file.get());
    }
    void expect_problem(const std::string& says) {
        const Verification found = verify_result(result);
        ASSERT_EQ(found.damage.size(), 1u);
        EXPECT_NE(found.damage[0].problem.find(says), std::string::npos) << found.damage[0].problem;
        EXPECT_TRUE(found.intact.empty());
        EXPECT_EQ(read_result_file(result, CheckDepth::SmallValues).state, ResultState::Damaged);
    }

    TemporaryFolder folder;
    std::filesystem::path result = folder.path() / "map.h5";
    ResultLayout layout = [] {
        FieldSpec text = field("text", FieldType::Int32), list = field("list", FieldType::Int32);
        text.shape = FieldShape::Text;
        list.shape = FieldShape::List;
        return layout_of(some_axes({100, 10}),
                         {field("steps", FieldType::Int32),
                          field("energy", FieldType::Float64, {{"body", {"1", "2"}}}), text, list});
    }();
};

TEST_F(Verify, AcceptsAnIntactResult) {
    make();
    const Verification found = verify_result(result);
    EXPECT_TRUE(found.ok()) << found.damage[0].problem;
    EXPECT_TRUE(found.finished);
    EXPECT_TRUE(found.has_checksums);
    EXPECT_EQ(found.points, 1000);
    EXPECT_EQ(found.intact.size(), 1000);
    EXPECT_THROW(verify_result(folder.path() / "missing.h5"), JobError);
    write_text_file(folder.path() / "letter.h5", "Dear reader");
    EXPECT_THROW(verify_result(folder.path() / "letter.h5"), JobError);
}

// As docs/result_file.md has it: zlib.crc32 of the dataset's bytes.
TEST_F(Verify, WritesTheChecksumOfTheBytesOfADataset) {
    make();
    edit([&](hid_t file) {
        EXPECT_EQ(read_integer(open_dataset(file, "steps").get(), "crc32"),
                  crc32_of(bytes_of(layout, 0, layout.whole())));
        EXPECT_EQ(read_integer(open_dataset(file, "energy").get(), "crc32"),
                  crc32_of(bytes_of(layout, 1, layout.whole())));
    });
}

TEST_F(Verify, NamesTheDatasetWhoseValuesWereChanged) {
    make();
    edit([](hid_t file) {
        const std::vector<std::int32_t> zeros(1000);
        const Hdf5Dataset steps = open_dataset(file, "steps");
        H5Dwrite(steps.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data());
    });
    expect_problem("the values of steps do not match their checksum");
}

TEST_F(Verify, NamesADeletedDataset) {
    make();
    edit([](hid_t file) { H5Ldelete(file, "energy", H5P_DEFAULT); });
    expect_problem("energy");
    EXPECT_THROW(ResultReader{result}, JobError);
}

TEST_F(Verify, NoticesADatasetOfOtherExtents) {
    make();
    edit([](hid_t file) {
        H5Ldelete(file, "x", H5P_DEFAULT);
        const hsize_t dims[1] = {99};
        const Hdf5Space space(H5Screate_simple(1, dims, nullptr));
        const Hdf5Dataset axis(
            H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        const std::vector<double> values(99);
        H5Dwrite(axis.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
        for (const char* name : {"units", "long_name", "key"}) write_text(axis.get(), name, "1");
        for (const char* name : {"element", "endpoint"}) write_integer(axis.get(), name, 0);
        for (const char* name : {"from", "to"}) write_real(axis.get(), name, 0);
    });
    expect_problem("has the extents");
}

TEST_F(Verify, NoticesAChangedAttribute) {
    make();
    edit([](hid_t file) {
        H5Adelete(file, "jobFile");
        write_text(file, "jobFile", "app = \"another\"");
    });
    expect_problem("attributes do not match their checksum");
}

// A disk loses a block: among the numbers, and in the middle of the texts that HDF5 keeps in a global heap
// ("GCOL").
TEST_F(Verify, NoticesAZeroedBlock) {
    make();
    const std::string whole = file_text(result);
    const FieldBuffer numbers = bytes_of(layout, 1, layout.whole());
    const auto first = whole.find(std::string(reinterpret_cast<const char*>(numbers.data()), 64));
    const auto heap = whole.find("the text of point 500");
    ASSERT_NE(first, std::string::npos);
    ASSERT_NE(heap, std::string::npos);
    for (const std::size_t at : {first, heap}) {
        std::string damaged = whole;
        damaged.replace(at, 4096, 4096, '\0');
        // Under a name of its own: HDF5 may keep a damaged file open.
        const auto copy = folder.path() / fmt::format("{}.h5", at);
        write_text_file(copy, damaged);
        const ResultFile found = read_result_file(copy, CheckDepth::SmallValues);
        EXPECT_EQ(found.state, ResultState::Damaged) << at;
        EXPECT_FALSE(verify_result(copy).ok()) << at;
    }
}

// 400,000 float64 are 3.2 MB: four blocks of 1 MiB, or 131,072 points.
TEST_F(Verify, NamesThePointsOfADamagedBlock) {
    layout = layout_of(some_axes({1000, 400}), {field("energy", FieldType::Float64)});
    make_result(result, layout, {0, 100'000, 300'001, 400'000});
    EXPECT_TRUE(verify_result(result).ok());
    edit([](hid_t file) {
        const double value = 0.5;
        const hsize_t at[2] = {200, 0}, one[2] = {1, 1};  // point 200,000, in the second block
        const Hdf5Dataset energy = open_dataset(file, "energy");
        const Hdf5Space space(H5Dget_space(energy.get())), memory(H5Screate(H5S_SCALAR));
        H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, at, nullptr, one, nullptr);
        ASSERT_GE(H5Dwrite(energy.get(), H5T_NATIVE_DOUBLE, memory.get(), space.get(), H5P_DEFAULT, &value),
                  0);
    });
    const Verification found = verify_result(result);
    ASSERT_EQ(found.damage.size(), 1u);
    EXPECT_EQ(found.damage[0].where, "energy");
    EXPECT_EQ(found.damage[0].points, (WorkRange{131'072, 262'144}));
    EXPECT_NE(found.damage[0].problem.find("points 131072 to 262143"), std::string::npos)
        << found.damage[0].problem;
    EXPECT_EQ(found.intact.size(), 400'000 - 131'072);
}

TEST_F(Verify, AcceptsAResultWithoutChecksums) {
    make();
    edit([](hid_t file) {
        H5Adelete(file, "headerCrc32");
        H5Adelete(file, "contentCrc32");
        H5Adelete(file, "resultFormat");
        for (const char* name : {"x", "y", "steps", "energy", "text", "list"})
            H5Adelete(open_dataset(file, name).get(), "crc32");
    });
    const Verification found = verify_result(result);
    EXPECT_TRUE(found.ok());
    EXPECT_FALSE(found.has_checksums);
    EXPECT_EQ(inspect_result(result, layout.fingerprint), ResultState::Complete);
}

TEST_F(Verify, NamesDamagedParts) {
    PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    for (const WorkRange range : {WorkRange{0, 10}, WorkRange{10, 20}, WorkRange{500, 1000}})
        commit_part(parts.life(), layout, range, data(range));
    Verification found = verify_result(result);
    EXPECT_TRUE(found.ok());
    EXPECT_FALSE(found.finished);
    EXPECT_TRUE(found.has_checksums);
    EXPECT_EQ(found.points, 1000);
    EXPECT_EQ(found.intact.ranges(), (std::vector<WorkRange>{{0, 20}, {500, 1000}}));
    std::filesystem::resize_file(parts.path() / "part-000000000010-000000000020.h5", 100);
    for (const auto& path : {result, parts.path()}) {
        found = verify_result(path);
        ASSERT_EQ(found.damage.size(), 1u);
        EXPECT_TRUE(found.damage[0].problem.starts_with("part-000000000010-000000000020.h5: "))
            << found.damage[0].problem;
        EXPECT_EQ(found.intact.ranges(), (std::vector<WorkRange>{{0, 10}, {500, 1000}}));
    }
    EXPECT_TRUE(std::filesystem::exists(parts.path() / "part-000000000010-000000000020.h5"));
}

// Rewrites a part in place as h5py does: HDF5 recomputes its own checksums.
TEST_F(Verify, NoticesAPartThatAnotherProgramHasRewritten) {
    PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    commit_part(parts.life(), layout, {0, 10}, data({0, 10}));
    {
        Hdf5Guard guard;
        const Hdf5File file(
            H5Fopen((parts.path() / "part-000000000000-000000000010.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
        const std::vector<std::int32_t> values(10, 7);
        const Hdf5Dataset steps = open_dataset(file.get(), "steps");
        ASSERT_GE(H5Dwrite(steps.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    }
    EXPECT_NE(verify_result(result).damage.at(0).problem.find("do not match their checksum"),
              std::string::npos);
    const PartScan scan = scan_parts(parts.path(), layout);
    ASSERT_EQ(scan.rejected.size(), 1u);
    EXPECT_TRUE(scan.completed.empty());
}

}  // namespace
}  // namespace voltpile
