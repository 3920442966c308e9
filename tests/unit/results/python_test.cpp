// Tests the file as users open it: tests/end_to_end/read_result.py reads it with h5py and xarray.
#include <cstdlib>

#include "results/hdf5/attribute.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

int run(const std::string& command) {
    const int status = std::system((command + " 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Python : public testing::Test {
  protected:
    void SetUp() override {
        if (run("/usr/bin/python3 -c 'import h5py, xarray, h5netcdf'") != 0) {
            GTEST_SKIP() << "python3-h5py, python3-xarray and python3-h5netcdf are not installed";
        }
    }
    // Checks every result in the folder.
    int read_results() const {
        return run("/usr/bin/python3 " VOLTPILE_SOURCE_DIR "/tests/end_to_end/read_result.py " +
                   (folder.path() / "*.h5").string() + " > " + output.string());
    }
    std::string said() const { return file_text(output); }
    Hdf5File open_to_change() const { return Hdf5File(H5Fopen(result.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)); }

    TemporaryFolder folder;
    std::filesystem::path result = folder.path() / "map.h5";
    std::filesystem::path output = folder.path() / "output.txt";
};

TEST_F(Python, ReadsEveryShape) {
    for (const std::vector<std::int64_t>& counts :
         {std::vector<std::int64_t>{}, {7}, {5, 3}, {5, 3, 7}, {1, 9, 1}}) {
        ResultLayout layout = layout_of(some_axes(counts), all_kinds_of_fields());
        layout.fields[0].plot_from = 50000;
        const std::string name = "points" + std::to_string(layout.point_count()) + ".h5";
        make_result(folder.path() / name, layout, {0, layout.point_count()});
    }
    EXPECT_EQ(read_results(), 0) << said();
    for (const char* name : {"points1.h5", "points7.h5", "points15.h5", "points105.h5", "points9.h5"}) {
        EXPECT_NE(said().find(name), std::string::npos) << said();
    }
}

TEST_F(Python, ReadsAResultWithoutOverridesAndWithALongJobFile) {
    ResultLayout layout = layout_of(some_axes({5, 3}), {field("steps", FieldType::Int32)});
    layout.job_overrides.clear();
    while (layout.job_text.size() < 200'000)
        layout.job_text += "# more than HDF5's 64 kB for a plain attribute\n";
    make_result(result, layout, {0, 15});
    EXPECT_EQ(read_results(), 0) << said();
}

// The check itself fails for a wrong file, and says why.
TEST_F(Python, NoticesAWrongFile) {
    const ResultLayout layout = layout_of(some_axes({5, 3}), all_kinds_of_fields());
    struct Change {
        std::function<void(hid_t)> apply;
        std::string complaint;
    };
    const std::vector<Change> changes{
        {[](hid_t file) { write_flag(file, "complete", false); }, "complete is 0, not 1"},
        {[](hid_t file) { H5Adelete(file, "machine"); }, "no attribute machine"},
        {[](hid_t file) { H5Adelete_by_name(file, "x", "units", H5P_DEFAULT); }, "x has no units"},
        {[](hid_t file) { H5Adelete_by_name(file, "state", "DIMENSION_LIST", H5P_DEFAULT); },
         "scales of dimension 0 of /state"},
        {[](hid_t file) {
             const double wrong[5] = {-20, -12, -4, 4, 13};
             H5Dwrite(open_dataset(file, "x").get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, wrong);
         },
         "coordinates of x are off by up to 1.0"},
        {[](hid_t file) { H5Ldelete(file, "steps", H5P_DEFAULT); }, "no field steps"}};
    for (const Change& change : changes) {
        make_result(result, layout, {0, 15});
        {
            Hdf5Guard guard;
            Hdf5File file = open_to_change();
            change.apply(file.get());
        }
        EXPECT_EQ(read_results(), 1) << change.complaint;
        EXPECT_NE(said().find(change.complaint), std::string::npos) << said();
        std::filesystem::remove(result);
    }
    write_text_file(result, "not HDF5");
    EXPECT_EQ(read_results(), 1);
}

}  // namespace
}  // namespace voltpile
