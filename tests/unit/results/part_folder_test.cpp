#include "results/parts/part_folder.h"

#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;
using IfOther = PartFolder::IfOther;

class PartFolderTest : public testing::Test {
  protected:
    TemporaryFolder folder;
    std::filesystem::path result = folder.path() / "deep" / "er" / "map.h5";
    ResultLayout layout = layout_of(some_axes({5, 3}), {field("steps", FieldType::Int32)});
    ResultLayout other = [this] {
        ResultLayout changed = layout;
        changed.fingerprint = "ffffffffffffffffffffffffffffffff";
        return changed;
    }();
};

TEST_F(PartFolderTest, CreatesTheFoldersAbove) {
    const PartFolder parts(result, layout, IfOther::Refuse);
    EXPECT_EQ(parts.path(), result.string() + ".parts");
    EXPECT_TRUE(std::filesystem::is_directory(parts.path()));
}

TEST_F(PartFolderTest, KeepsThePartsOfTheSameJob) {
    { commit_all(PartFolder(result, layout, IfOther::Refuse).path(), layout, {0, 4}); }
    const PartFolder again(result, layout, IfOther::Refuse);
    EXPECT_EQ(scan_parts(again.path(), layout).completed.size(), 4);
}

TEST_F(PartFolderTest, RejectsThePartsOfAnotherJob) {
    { commit_all(PartFolder(result, layout, IfOther::Refuse).path(), layout, {0, 4}); }
    const auto before = names_in(parts_path(result));
    const auto [message, code] = error_of([&] { PartFolder(result, other, IfOther::Refuse); });
    EXPECT_EQ(code, ExitCode::BadInput);
    EXPECT_NE(message.find(layout.fingerprint), std::string::npos) << message;
    EXPECT_NE(message.find(other.fingerprint), std::string::npos) << message;
    EXPECT_NE(message.find("--fresh"), std::string::npos) << message;
    EXPECT_EQ(names_in(parts_path(result)), before);
    EXPECT_EQ(scan_parts(parts_path(result), layout).completed.size(), 4);
}

TEST_F(PartFolderTest, DiscardsOnDemand) {
    { commit_all(PartFolder(result, layout, IfOther::Refuse).path(), layout, {0, 4, 9}); }
    {
        const PartFolder fresh(result, other, IfOther::Discard);
        EXPECT_TRUE(scan_parts(fresh.path(), other).completed.empty());
        EXPECT_TRUE(scan_parts(fresh.path(), layout).completed.empty());
    }
    EXPECT_NO_THROW(PartFolder(result, other, IfOther::Refuse));
    EXPECT_THROW(PartFolder(result, layout, IfOther::Refuse), JobError);
}

TEST_F(PartFolderTest, DiscardsThePartsOfTheSameJobToo) {
    { commit_all(PartFolder(result, layout, IfOther::Refuse).path(), layout, {0, 4}); }
    const PartFolder fresh(result, layout, IfOther::Discard);
    EXPECT_TRUE(scan_parts(fresh.path(), layout).completed.empty());
}

TEST_F(PartFolderTest, KeepsAForeignFolder) {
    const auto parts = parts_path(result);
    std::filesystem::create_directories(parts);
    write_text_file(parts / "thesis.tex", "years of work");
    write_text_file(parts / "part-000000000000-000000000004.h5", "a part of something else");
    for (const IfOther what : {IfOther::Refuse, IfOther::Discard}) {
        const auto [message, code] = error_of([&] { PartFolder(result, layout, what); });
        EXPECT_EQ(code, ExitCode::BadInput);
        EXPECT_NE(message.find(parts.string()), std::string::npos) << message;
        EXPECT_EQ(names_in(parts),
                  (std::vector<std::string>{"part-000000000000-000000000004.h5", "thesis.tex"}));
        EXPECT_EQ(file_text(parts / "thesis.tex"), "years of work");
    }
}

TEST_F(PartFolderTest, LeavesAFolderWithAForeignManifestAlone) {
    const auto parts = parts_path(result);
    std::filesystem::create_directories(parts);
    write_text_file(parts / "layout.h5", "not HDF5");
    for (const IfOther what : {IfOther::Refuse, IfOther::Discard}) {
        EXPECT_THROW(PartFolder(result, layout, what), JobError);
        EXPECT_EQ(names_in(parts), (std::vector<std::string>{"layout.h5"}));
        EXPECT_EQ(file_text(parts / "layout.h5"), "not HDF5");
    }
}

// A run leaves this if it is killed between creating the folder and writing the manifest.
TEST_F(PartFolderTest, AdoptsAnEmptyFolder) {
    std::filesystem::create_directories(parts_path(result));
    EXPECT_NO_THROW(PartFolder(result, layout, IfOther::Refuse));
    std::filesystem::remove(parts_path(result) / "layout.h5");
    const auto life = life_in(parts_path(result)).folder();
    write_text_file(life / "layout.h5.node1-7-a0.tmp", "half a manifest");
    const PartFolder parts(result, layout, IfOther::Refuse);
    EXPECT_FALSE(std::filesystem::exists(life));
    EXPECT_EQ(lives_in(parts.path()), 1u);
}

TEST_F(PartFolderTest, AdoptsPartsOfThisJobWithoutAManifest) {
    { commit_all(PartFolder(result, layout, IfOther::Refuse).path(), layout, {0, 4}); }
    std::filesystem::remove(parts_path(result) / "layout.h5");
    write_text_file(parts_path(result) / "notes.txt", "mine");
    {
        const auto [message, code] = error_of([&] { PartFolder(result, other, IfOther::Refuse); });
        EXPECT_EQ(code, ExitCode::BadInput);
        EXPECT_NE(message.find(layout.fingerprint), std::string::npos) << message;
        EXPECT_FALSE(std::filesystem::exists(parts_path(result) / "layout.h5"));
    }
    PartFolder parts(result, layout, IfOther::Refuse);
    EXPECT_EQ(scan_parts(parts.path(), layout).completed.size(), 4);
    EXPECT_TRUE(std::filesystem::exists(parts.path() / "layout.h5"));
    EXPECT_EQ(file_text(parts.path() / "notes.txt"), "mine");
}

TEST_F(PartFolderTest, DiscardsPartsOfAnotherJobWithoutAManifest) {
    { commit_all(PartFolder(result, layout, IfOther::Refuse).path(), layout, {0, 4}); }
    std::filesystem::remove(parts_path(result) / "layout.h5");
    const PartFolder parts(result, other, IfOther::Discard);
    EXPECT_EQ(names_in(parts.path()), (std::vector<std::string>{"layout.h5", "lock"}));
}

TEST_F(PartFolderTest, IsBesideTheTargetOfASymbolicLink) {
    std::filesystem::create_directories(folder.path() / "disk");
    std::filesystem::create_symlink("disk/real.h5",
                                    folder.path() / "link.h5");  // to a file that does not exist yet
    const auto link = folder.path() / "link.h5", real = folder.path() / "disk" / "real.h5";
    make_result(link, layout, {0, 15});
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(inspect_result(real, layout.fingerprint), ResultState::Complete);
    EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"disk", "link.h5"}));
    EXPECT_EQ(names_in(folder.path() / "disk"), (std::vector<std::string>{"real.h5"}));
    std::filesystem::create_symlink("round.h5", folder.path() / "round.h5");
    EXPECT_EQ(error_of([&] { PartFolder(folder.path() / "round.h5", layout, IfOther::Refuse); }).second,
              ExitCode::BadInput);
}

TEST_F(PartFolderTest, RejectsAnImpossibleOutputPath) {
    write_text_file(folder.path() / "file", "");
    const auto [message, code] =
        error_of([&] { PartFolder(folder.path() / "file" / "map.h5", layout, IfOther::Refuse); });
    EXPECT_EQ(code, ExitCode::BadInput);
    EXPECT_NE(message.find("Not a directory"), std::string::npos) << message;
    write_text_file(folder.path() / "map.h5.parts", "a file where the folder should be");
    EXPECT_EQ(error_of([&] { PartFolder(folder.path() / "map.h5", layout, IfOther::Refuse); }).second,
              ExitCode::BadInput);
}

TEST_F(PartFolderTest, RejectsAFolderThatIsNotWritable) {
    // Run as an ordinary user, because root may write everywhere.
    std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
    const int code = run_in_child([&] {
        std::filesystem::create_directories(parts_path(result));
        std::filesystem::permissions(parts_path(result), static_cast<std::filesystem::perms>(0555));
        if (::geteuid() == 0 && ::seteuid(65534) != 0) return 98;
        const auto [message, exit_code] = error_of([&] { PartFolder(result, layout, IfOther::Refuse); });
        const bool named = message.find("Permission denied") != std::string::npos;
        return named && exit_code == ExitCode::BadInput ? 0 : 1;
    });
    EXPECT_EQ(code, 0);
}

TEST_F(PartFolderTest, AdmitsOneRunAtATime) {
    int ready[2], done[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(done), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const PartFolder held(result, layout, IfOther::Refuse);
        char go = 1;
        if (::write(ready[1], &go, 1) != 1 || ::read(done[0], &go, 1) != 1) ::_exit(1);
        ::_exit(0);  // without releasing the lock, which must end with the process
    }
    char go = 1;
    ASSERT_EQ(::read(ready[0], &go, 1), 1);
    for (const IfOther what : {IfOther::Refuse, IfOther::Discard}) {
        const auto [message, code] = error_of([&] { PartFolder(result, layout, what); });
        EXPECT_EQ(code, ExitCode::CannotRun);
        EXPECT_NE(message.find("another run is writing " + result.string()), std::string::npos) << message;
        EXPECT_NE(message.find("pid " + std::to_string(child) + " on "), std::string::npos) << message;
    }
    ASSERT_EQ(::write(done[1], &go, 1), 1);
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    for (int fd : {ready[0], ready[1], done[0], done[1]}) ::close(fd);
    EXPECT_NO_THROW(PartFolder(result, layout, IfOther::Refuse));
}

TEST_F(PartFolderTest, RemoveLeavesNothing) {
    PartFolder parts(result, layout, IfOther::Refuse);
    commit_all(parts.path(), layout, {0, 4, 9});
    parts.remove();
    EXPECT_FALSE(std::filesystem::exists(parts_path(result)));
    EXPECT_NO_THROW(PartFolder(result, layout, IfOther::Refuse));
}

}  // namespace
}  // namespace voltpile
