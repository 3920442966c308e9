#include "results/hdf5/attribute.h"
#include "results/open_result.h"
#include "results/result_reader.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

class InspectResult : public testing::Test {
  protected:
    TemporaryFolder folder;
    std::filesystem::path result = folder.path() / "map.h5";
    ResultLayout layout = layout_of(some_axes({5, 3}), {field("steps", FieldType::Int32)});
};

TEST_F(InspectResult, ReportsAnAbsentFile) {
    EXPECT_EQ(inspect_result(result, layout.fingerprint), ResultState::Absent);
    EXPECT_EQ(inspect_result(folder.path() / "no" / "map.h5", layout.fingerprint), ResultState::Absent);
}

TEST_F(InspectResult, DistinguishesJobs) {
    make_result(result, layout, {0, 15});
    EXPECT_EQ(inspect_result(result, layout.fingerprint), ResultState::Complete);
    EXPECT_EQ(inspect_result(result, "ffffffffffffffffffffffffffffffff"), ResultState::OtherJob);
}

TEST_F(InspectResult, RejectsAnIncompleteResult) {
    make_result(result, layout, {0, 15});
    {
        Hdf5Guard guard;
        Hdf5File file(H5Fopen(result.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
        write_flag(file.get(), "complete", false);
    }
    EXPECT_EQ(inspect_result(result, layout.fingerprint), ResultState::Damaged);
    EXPECT_THROW(ResultReader{result}, JobError);
}

TEST_F(InspectResult, DistinguishesDamagedFromForeignFiles) {
    make_result(result, layout, {0, 15});
    const std::string whole = file_text(result);
    for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{100}}) {
        write_text_file(result, whole.substr(0, size));
        EXPECT_EQ(inspect_result(result, layout.fingerprint), ResultState::Damaged) << size;
        const auto [message, code] = error_of([&] { open_result(result, layout, false, {}); });
        EXPECT_EQ(code, ExitCode::BadInput);
        EXPECT_NE(message.find("damaged"), std::string::npos) << message;
        EXPECT_EQ(message.find("not written by voltpile"), std::string::npos) << message;
        EXPECT_EQ(file_text(result), whole.substr(0, size));
        EXPECT_THROW(ResultReader{result}, JobError);
    }
}

TEST_F(InspectResult, RecognizesForeignFiles) {
    write_text_file(result, "my thesis");
    EXPECT_EQ(inspect_result(result, layout.fingerprint), ResultState::NotOurs);
    EXPECT_EQ(file_text(result), "my thesis");
    write_text_file(result, "");
    EXPECT_EQ(inspect_result(result, layout.fingerprint), ResultState::NotOurs);
    std::filesystem::create_directory(folder.path() / "folder.h5");
    EXPECT_EQ(inspect_result(folder.path() / "folder.h5", layout.fingerprint), ResultState::NotOurs);
    {
        Hdf5Guard guard;
        create_hdf5((folder.path() / "other.h5").string());
    }
    EXPECT_EQ(inspect_result(folder.path() / "other.h5", layout.fingerprint), ResultState::NotOurs);
}

TEST_F(InspectResult, ConsolidationNeedsTheWholeSweep) {
    PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    commit_all(parts.path(), layout, {0, 14});
    EXPECT_THROW(consolidate(result, layout, scan_parts(parts.path(), layout).parts, some_provenance()),
                 std::logic_error);
    EXPECT_FALSE(std::filesystem::exists(result));
}

}  // namespace
}  // namespace voltpile
