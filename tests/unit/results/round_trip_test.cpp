// Tests parts -> finished file -> reader, bit for bit, and checks the file with HDF5's own calls.
#include <cmath>

#include "results/hdf5/attribute.h"
#include "results/hdf5/field_io.h"
#include "results/result_reader.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

struct Case {
    const char* name;
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> bounds;  // of the parts, which start and end inside rows
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << c.name;
}

class RoundTrip : public testing::TestWithParam<Case> {};

TEST_P(RoundTrip, IsBitIdentical) {
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    const ResultLayout layout = layout_of(some_axes(GetParam().counts), all_kinds_of_fields());
    make_result(result, layout, GetParam().bounds);

    Hdf5Guard guard;
    Hdf5File file = open_hdf5(result.string());
    for (std::size_t i = 0; i < layout.fields.size(); ++i) {
        const FieldSpec& spec = layout.fields[i];
        std::vector<hsize_t> dims(GetParam().counts.rbegin(), GetParam().counts.rend());
        for (const auto& dimension : spec.dimensions) dims.push_back(dimension.labels.size());
        Hdf5Dataset dataset = open_dataset(file.get(), spec.name);
        EXPECT_EQ(dataset_dims(dataset.get()), dims) << spec.name;
        FieldBuffer bytes(static_cast<std::size_t>(layout.point_count()) * spec.bytes_per_point());
        ASSERT_GE(H5Dread(dataset.get(), memory_type(spec.type), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()),
                  0);
        EXPECT_EQ(bytes, bytes_of(layout, i, layout.whole())) << spec.name;
    }
}

double as_double(FieldType type, const std::byte* at) {
    auto value = [at]<class T>(T to) {
        std::memcpy(&to, at, sizeof to);
        return static_cast<double>(to);
    };
    switch (type) {
        case FieldType::Int32:
            return value(std::int32_t{});
        case FieldType::Int64:
            return value(std::int64_t{});
        case FieldType::Float32:
            return value(float{});
        default:
            return value(double{});
    }
}

void expect_same(const std::vector<double>& values, const FieldSpec& spec, const FieldBuffer& bytes) {
    ASSERT_EQ(values.size() * size_of(spec.type), bytes.size());
    for (std::size_t v = 0; v < values.size(); ++v) {
        const double expected = as_double(spec.type, bytes.data() + v * size_of(spec.type));
        if (std::isnan(expected)) {
            EXPECT_TRUE(std::isnan(values[v])) << spec.name << " " << v;
        } else {
            EXPECT_EQ(values[v], expected) << spec.name << " " << v;
        }
    }
}

TEST_P(RoundTrip, ReaderReturnsAnyRange) {
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    const ResultLayout layout = layout_of(some_axes(GetParam().counts), all_kinds_of_fields());
    make_result(result, layout, GetParam().bounds);
    const ResultReader reader(result);
    EXPECT_TRUE(reader.complete());
    EXPECT_EQ(reader.completed().size(), layout.point_count());
    for (std::size_t i = 0; i < layout.fields.size(); ++i) {
        for (const WorkRange range :
             {layout.whole(), WorkRange{layout.point_count() / 3, layout.point_count() / 3 + 1},
              WorkRange{layout.point_count() / 4, layout.point_count()}}) {
            expect_same(reader.read(layout.fields[i], range), layout.fields[i], bytes_of(layout, i, range));
        }
    }
}

TEST_P(RoundTrip, PreservesLayoutAndProvenance) {
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    ResultLayout layout = layout_of(some_axes(GetParam().counts), all_kinds_of_fields());
    layout.fields[0].plot_from = 50000;
    make_result(result, layout, GetParam().bounds);
    const ResultReader reader(result);
    const ResultLayout& read = reader.layout();
    EXPECT_EQ(read.app, layout.app);
    EXPECT_EQ(read.job_path, layout.job_path);
    EXPECT_EQ(read.job_text, layout.job_text);
    EXPECT_EQ(read.job_overrides, layout.job_overrides);
    EXPECT_EQ(read.fingerprint, layout.fingerprint);
    ASSERT_EQ(read.axes.size(), layout.axes.size());
    for (std::size_t i = 0; i < read.axes.size(); ++i) {
        EXPECT_EQ(read.axes[i].name, layout.axes[i].name);
        EXPECT_EQ(read.axes[i].parameter, layout.axes[i].parameter);
        EXPECT_EQ(read.axes[i].key, layout.axes[i].key);
        EXPECT_EQ(read.axes[i].element, layout.axes[i].element);
        EXPECT_EQ(read.axes[i].unit, layout.axes[i].unit);
        EXPECT_EQ(read.axes[i].from, layout.axes[i].from);
        EXPECT_EQ(read.axes[i].to, layout.axes[i].to);
        EXPECT_EQ(read.axes[i].count, layout.axes[i].count);
        EXPECT_EQ(read.axes[i].endpoint, layout.axes[i].endpoint);
    }
    ASSERT_EQ(read.fields.size(), layout.fields.size());
    for (std::size_t i = 0; i < read.fields.size(); ++i) {
        EXPECT_EQ(read.fields[i].name, layout.fields[i].name);
        EXPECT_EQ(read.fields[i].type, layout.fields[i].type);
        EXPECT_EQ(read.fields[i].unit, layout.fields[i].unit);
        EXPECT_EQ(read.fields[i].long_name, layout.fields[i].long_name);
        EXPECT_EQ(read.fields[i].dimensions, layout.fields[i].dimensions);
        EXPECT_EQ(read.fields[i].plot_from, layout.fields[i].plot_from);
    }
    EXPECT_EQ(reader.provenance().software, "voltpile");
    EXPECT_EQ(reader.provenance().software_version, "0.1.0");
    EXPECT_EQ(reader.provenance().git_revision, "1a2b3c4d5e6f");
    EXPECT_EQ(reader.provenance().date, "2024-05-06 07:08:09 +0200");
    EXPECT_EQ(reader.provenance().machine, "2 hosts (a, b): 8x Tesla V100-SXM2-16GB");
    EXPECT_EQ(reader.provenance().author, "somebody");
    EXPECT_EQ(reader.provenance().command_line, "voltpile run jobs/threebody/tiny.toml");
}

INSTANTIATE_TEST_SUITE_P(Shapes, RoundTrip,
                         testing::Values(Case{"point", {}, {0, 1}}, Case{"line", {7}, {0, 3, 7}},
                                         Case{"map", {5, 3}, {0, 4, 11, 12, 15}},
                                         Case{"cube", {5, 3, 7}, {0, 1, 23, 68, 105}},
                                         Case{"flat", {1, 9, 1}, {0, 2, 9}}, Case{"whole", {4, 4}, {0, 16}}),
                         [](const auto& test) { return test.param.name; });

// The sweep is larger than one block of the copy and one chunk of a part, with a boundary inside both.
TEST(Consolidate, CopiesManyBlocks) {
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    const ResultLayout layout =
        layout_of(some_axes({1001, 1403}), {field("a", FieldType::Float64), field("b", FieldType::Int32)});
    make_result(result, layout, {0, 1'300'000, 1'300'001, 1001 * 1403});
    const ResultReader reader(result);
    for (std::size_t i = 0; i < 2; ++i) {
        expect_same(reader.read(layout.fields[i], layout.whole()), layout.fields[i],
                    bytes_of(layout, i, layout.whole()));
    }
}

// A file of the longest name whose part folder a file system accepts has no room for the ending of a
// temporary name.
TEST(Consolidate, WritesToALongName) {
    TemporaryFolder folder;
    const auto result = folder.path() / (std::string(246, 'r') + ".h5");
    const ResultLayout layout = layout_of(some_axes({7}), all_kinds_of_fields());
    make_result(result, layout, {0, 7});
    EXPECT_TRUE(ResultReader(result).complete());
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{result.filename().string()});
}

// x = from + (to - from) * i / n, with n = count, or count - 1 if the axis includes its end.
TEST(Consolidate, WritesCoordinates) {
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    const ResultLayout layout =
        layout_of({axis("x", -20, 20, 4), axis("y", 1, 2, 3, true)}, {field("a", FieldType::Int32)});
    make_result(result, layout, {0, 12});
    Hdf5Guard guard;
    Hdf5File file = open_hdf5(result.string());
    std::vector<double> x(4), y(3);
    H5Dread(open_dataset(file.get(), "x").get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x.data());
    H5Dread(open_dataset(file.get(), "y").get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, y.data());
    EXPECT_EQ(x, (std::vector<double>{-20, -10, 0, 10}));
    EXPECT_EQ(y, (std::vector<double>{1, 1.5, 2}));
    EXPECT_EQ(read_integer(file.get(), "complete"), 1);
}

TEST(ResultReader, ReturnsNanWhereNotComputed) {
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    const ResultLayout layout = layout_of(some_axes({4, 3}), {field("steps", FieldType::Int32)});
    PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    commit_part(parts.path(), layout, {2, 4}, {buffer<std::int32_t>({20, 30})});
    commit_part(parts.path(), layout, {7, 9}, {buffer<std::int32_t>({70, 80})});
    const ResultReader reader(result);  // while the writer holds the lock
    EXPECT_FALSE(reader.complete());
    EXPECT_EQ(reader.completed().ranges(), (std::vector<WorkRange>{{2, 4}, {7, 9}}));
    EXPECT_EQ(reader.layout().job_text, layout.job_text);
    const std::vector<double> values = reader.read(reader.layout().fields[0], {1, 10});
    const double expected[] = {NAN, 20, 30, NAN, NAN, NAN, 70, 80, NAN};
    ASSERT_EQ(values.size(), 9u);
    for (std::size_t i = 0; i < 9; ++i) {
        EXPECT_TRUE(std::isnan(expected[i]) ? std::isnan(values[i]) : values[i] == expected[i]) << i;
    }
}

TEST(ResultReader, RejectsOtherFiles) {
    TemporaryFolder folder;
    write_text_file(folder.path() / "letter.h5", "Dear reader");
    EXPECT_THROW(ResultReader(folder.path() / "letter.h5"), JobError);
    EXPECT_THROW(ResultReader(folder.path() / "missing.h5"), JobError);
    std::filesystem::create_directory(folder.path() / "other.h5.parts");
    EXPECT_THROW(ResultReader(folder.path() / "other.h5"), JobError);
}

}  // namespace
}  // namespace voltpile
