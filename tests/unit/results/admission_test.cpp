// Which results a run may create, resume or must leave alone: one row for each situation.
#include "results/admission.h"

#include <fmt/format.h>

#include "results/hdf5/attribute.h"
#include "results/open_result.h"
#include "results/result_reader.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;
using Verdict = Admission::Verdict;
using Cause = Admission::Cause;

class Admissions : public testing::Test {
  protected:
    Admission admission(bool fresh = false, const Claim& claim = {}) {
        return admit(result, layout, {fresh, claim});
    }
    void expect(Verdict verdict, Cause cause = Cause::None, const std::string& says = "") {
        expect_of(admission(), verdict, cause, says);
    }
    void expect_fresh(Verdict verdict, Cause cause = Cause::None, const std::string& says = "") {
        expect_of(admission(true), verdict, cause, says);
    }
    static void expect_of(const Admission& found, Verdict verdict, Cause cause, const std::string& says) {
        EXPECT_EQ(found.verdict, verdict) << found.message;
        EXPECT_EQ(found.cause, cause) << found.message;
        EXPECT_NE(found.message.find(says), std::string::npos) << found.message;
    }
    void edit(const std::function<void(hid_t)>& change) {
        Hdf5Guard guard;
        const Hdf5File file(H5Fopen(result.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
        change(file.get());
    }
    void commit(const ResultLayout& of, const std::vector<std::int64_t>& bounds,
                PartFolder::IfOther if_other = PartFolder::IfOther::Refuse) {
        PartFolder parts(result, of, if_other);
        commit_all(parts.path(), of, bounds);
    }

    TemporaryFolder folder;
    std::filesystem::path result = folder.path() / "map.h5";
    ResultLayout layout = layout_of(some_axes({5, 3}), all_kinds_of_fields());
    ResultLayout other = [this] {
        ResultLayout changed = layout;
        changed.fingerprint = std::string(32, 'f');
        return changed;
    }();
};

TEST_F(Admissions, CreatesWhereThereIsNothing) {
    expect(Verdict::Create);
    expect_fresh(Verdict::Create);
    result = folder.path() / "not" / "yet" / "map.h5";
    expect(Verdict::Create);
    EXPECT_TRUE(names_in(folder.path()).empty());  // it only looks
}

TEST_F(Admissions, AcceptsACompleteResult) {
    make_result(result, layout, {0, 15});
    expect(Verdict::Complete, Cause::None, "map.h5 is complete already; --fresh computes it again");
    expect_fresh(Verdict::Create);
    EXPECT_EQ(admission().exit_code(), ExitCode::Done);
}

TEST_F(Admissions, ResumesParts) {
    commit(layout, {0, 4});
    expect(Verdict::Resume);
    expect_fresh(Verdict::Create);
}

TEST_F(Admissions, ResumesAStoppedFreshRunThoughAResultExists) {
    make_result(result, layout, {0, 15});
    commit(layout, {0, 6}, PartFolder::IfOther::Discard);
    expect(Verdict::Resume);
    EXPECT_EQ(result_source(result), ResultSource::Parts);
    EXPECT_FALSE(ResultReader(result).complete());
    EXPECT_EQ(ResultReader(result).completed().size(), 6);
}

TEST_F(Admissions, TreatsLeftOverPartsOfACompleteResultAsDone) {
    commit(layout, {0, 6});
    const auto aside = folder.path() / "aside";
    std::filesystem::rename(parts_path(result), aside);
    make_result(result, layout, {0, 15});
    std::filesystem::rename(aside, parts_path(result));
    expect(Verdict::Complete);
    EXPECT_EQ(result_source(result), ResultSource::File);
}

TEST_F(Admissions, RejectsAnotherJobsResultAndParts) {
    make_result(result, other, {0, 15});
    expect(Verdict::Refuse, Cause::File, "holds the result of another job");
    expect_fresh(Verdict::Create);
    std::filesystem::remove(result);
    commit(other, {0, 4});
    expect(Verdict::Refuse, Cause::Parts, other.fingerprint);
    EXPECT_EQ(admission().exit_code(), ExitCode::BadInput);
    expect_fresh(Verdict::Create);
}

TEST_F(Admissions, RejectsForeignFilesEvenIfFresh) {
    write_text_file(result, "my thesis");
    expect(Verdict::Refuse, Cause::File, "was not written by voltpile");
    expect_fresh(Verdict::Refuse, Cause::File, "was not written by voltpile");
    std::filesystem::remove(result);
    std::filesystem::create_directories(parts_path(result));
    write_text_file(parts_path(result) / "notes.txt", "mine");
    expect_fresh(Verdict::Refuse, Cause::Parts, "notes.txt");
    write_text_file(parts_path(result) / "layout.h5", "not HDF5");
    expect(Verdict::Refuse, Cause::Parts, "layout.h5");
}

// A file that no longer says whose it is stays; one that still does may be computed again.
TEST_F(Admissions, RejectsADamagedResultUnlessFresh) {
    make_result(result, layout, {0, 15});
    const std::string whole = file_text(result);
    write_text_file(result, whole.substr(0, whole.size() / 2));
    expect(Verdict::Refuse, Cause::File, "damaged");
    expect_fresh(Verdict::Refuse, Cause::File, "remove it");
    write_text_file(result, whole);
    edit([](hid_t file) { H5Ldelete(file, "ticket", H5P_DEFAULT); });
    expect(Verdict::Refuse, Cause::File, "ticket");
    expect(Verdict::Refuse, Cause::File, "--fresh");
    expect_fresh(Verdict::Create);
    EXPECT_THROW(open_result(result, layout, false, {}), JobError);
}

TEST_F(Admissions, RejectsResultsAndPartsOfANewerFormat) {
    make_result(result, layout, {0, 15});
    const auto raise = [](hid_t file) {
        H5Adelete(file, "resultFormat");
        write_integer(file, "resultFormat", 2);
    };
    edit(raise);
    for (const bool fresh : {false, true})
        expect_of(admission(fresh), Verdict::Refuse, Cause::File, "newer version of voltpile (format 2");
    EXPECT_THROW(ResultReader{result}, JobError);
    std::filesystem::remove(result);
    commit(layout, {0, 4});
    const auto place = std::exchange(result, parts_path(result) / "layout.h5");
    edit(raise);
    result = place;
    for (const bool fresh : {false, true})
        expect_of(admission(fresh), Verdict::Refuse, Cause::Parts, "newer version of voltpile (format 2");
}

TEST_F(Admissions, NamesALiveRunAndWhoMayTakeOver) {
    const PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    commit_all(parts.path(), layout, {0, 4});
    const Admission found = admission();
    EXPECT_EQ(found.verdict, Verdict::Resume);
    EXPECT_NE(found.busy.find(fmt::format("another run is writing {} (pid {}", result.string(), ::getpid())),
              std::string::npos)
        << found.busy;
    EXPECT_EQ(admission(false, {.shard = {}, .take_over = true}).busy, "");
    EXPECT_NE(admission(false, {.shard = {0, 2}}).busy, "");
}

TEST_F(Admissions, LetsShardsOfOneCountRunTogether) {
    const PartFolder parts(result, layout, PartFolder::IfOther::Refuse, {.shard = {0, 2}});
    EXPECT_EQ(admission(false, {.shard = {1, 2}}).busy, "");
    EXPECT_NE(admission(false, {.shard = {0, 2}}).busy, "");
    expect_of(admission(true, {.shard = {1, 2}}), Verdict::Refuse, Cause::Arguments, "--fresh would discard");
}

TEST_F(Admissions, RejectsPathsWhereNoFileCanBe) {
    for (const char* name : {"new/", "new/.", ".."}) {
        result = folder.path() / name;
        expect(Verdict::Refuse, Cause::Place, "names a folder");
        EXPECT_THROW(open_result(result, layout, false, {}), JobError);
    }
    EXPECT_TRUE(names_in(folder.path()).empty());
    result = folder.path();
    expect_fresh(Verdict::Refuse, Cause::File, "it is a folder");
    write_text_file(folder.path() / "file", "in the way");
    result = folder.path() / "file" / "map.h5";
    expect(Verdict::Refuse, Cause::Place, "Not a directory");
}

// 2 PB, as an axis of a job can ask for.
TEST_F(Admissions, RejectsAResultThatDoesNotFitTheDisk) {
    layout = layout_of(some_axes({50'000'000, 5'000'000}), {field("a", FieldType::Float64)});
    expect(Verdict::Refuse, Cause::Room,
           "needs 4.0 PB while it is computed (2.0 PB for its parts, 2.0 PB for the result)");
    EXPECT_EQ(admission().exit_code(), ExitCode::CannotRun);
    EXPECT_THROW(admission().throw_if_refused(), MachineError);
}

class Room : public testing::Test {
  protected:
    Verdict with_free_bytes(double bytes, const AdmissionRequest& request = {}) {
        found.free_bytes = bytes;
        return decide(found, layout, request).verdict;
    }
    // 8 bytes a point in the parts, the same in the result, and 8 for each coordinate.
    ResultLayout layout = layout_of(some_axes({100, 10}), {field("a", FieldType::Float64)});
    ResultSituation found;
    static constexpr double result_bytes = 8 * 1000 + 8 * 110;
};

TEST_F(Room, IsNeededForPartsAndResult) {
    EXPECT_EQ(with_free_bytes(8000 + result_bytes), Verdict::Create);
    EXPECT_EQ(with_free_bytes(8000 + result_bytes - 1), Verdict::Refuse);
    found.free_bytes.reset();  // the file system does not tell
    EXPECT_EQ(decide(found, layout, {}).verdict, Verdict::Create);
}

// 50 x 5 points take 16 * 250 + 8 * 55 bytes, and 51 x 5 take 16 * 255 + 8 * 56.
TEST_F(Room, OfTheLargestGridThatFitsIsNamed) {
    found.free_bytes = 16 * 250 + 8 * 55;
    const std::string why = decide(found, layout, {}).message;
    EXPECT_TRUE(why.ends_with("; the largest grid of this shape that fits has x = 50, y = 5")) << why;
    found.free_bytes = 10;  // not even one point
    EXPECT_TRUE(decide(found, layout, {}).message.ends_with("or compute fewer points"));
}

TEST_F(Room, CountsPartsThatExistAndWhatTheNextRunRemoves) {
    found.owner = PartOwner{layout, {}, {}, {}};
    found.committed.insert({0, 400});
    EXPECT_EQ(with_free_bytes(600 * 8 + result_bytes), Verdict::Resume);
    EXPECT_EQ(with_free_bytes(600 * 8 + result_bytes - 1), Verdict::Refuse);
    found.bytes_of_lives = 1000;
    EXPECT_EQ(with_free_bytes(600 * 8 + result_bytes - 1000), Verdict::Resume);
    found.bytes_of_parts = 3200;  // --fresh removes them
    EXPECT_EQ(with_free_bytes(8000 + result_bytes - 4200, {.fresh = true}), Verdict::Create);
    EXPECT_EQ(with_free_bytes(8000 + result_bytes - 4201, {.fresh = true}), Verdict::Refuse);
}

TEST_F(Room, IsNeededForTheShardsOwnParts) {
    const AdmissionRequest half{.claim = {.shard = {1, 2}}};
    EXPECT_EQ(with_free_bytes(4000 + result_bytes, half), Verdict::Create);
    EXPECT_EQ(with_free_bytes(4000 + result_bytes - 1, half), Verdict::Refuse);
}

TEST_F(Room, IsALowerBoundForTexts) {
    FieldSpec text = field("text", FieldType::Int32);
    text.shape = FieldShape::Text;
    text.usual_length = 1'000'000;
    layout = layout_of(some_axes({1000}), {text});
    EXPECT_EQ(with_free_bytes(3 * 8000), Verdict::Create);
}

}  // namespace
}  // namespace voltpile
