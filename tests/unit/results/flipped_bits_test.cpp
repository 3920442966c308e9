// Flips bits all over a small result. Whatever verify_result() then calls intact must read as before, with
// HDF5 alone.
#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "results/hdf5/attribute.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/group_io.h"
#include "results/plan_record.h"
#include "results/rows.h"
#include "results/telemetry.h"
#include "results/verify.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

// Everything that a reader of the file can see: groups, datasets with their values, attributes.
class Dump {
  public:
    explicit Dump(const std::filesystem::path& path) {
        Hdf5Guard guard;
        const Hdf5File file = open_hdf5(path.string());
        add_object(file.get());
        add_members(file.get());
    }
    std::string text;

  private:
    void add_members(hid_t group) {
        for (const std::string& name : names_in_group(group)) {
            const Hdf5Handle<H5Oclose> object(H5Oopen(group, name.c_str(), H5P_DEFAULT));
            text += name + "\n";
            add_object(object.get());
            if (H5Iget_type(object.get()) == H5I_GROUP) add_members(object.get());
            if (H5Iget_type(object.get()) == H5I_DATASET) add_values(object.get());
        }
    }

    void add_values(hid_t dataset) {
        const Hdf5Type stored(H5Dget_type(dataset));
        const Hdf5Space space(H5Dget_space(dataset));
        text += fmt::format("{}:", H5Sget_simple_extent_npoints(space.get()));
        add(stored.get(), space.get(),
            [&](hid_t type, void* to) { return H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to); });
    }

    void add_object(hid_t object) {
        const auto note = [](hid_t at, const char* name, const H5A_info_t*, void* self) {
            static_cast<Dump*>(self)->add_attribute(at, name);
            return herr_t{0};
        };
        H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, note, this);
    }

    void add_attribute(hid_t object, const char* name) {
        const Hdf5Attribute attribute(H5Aopen(object, name, H5P_DEFAULT));
        const Hdf5Type stored(H5Aget_type(attribute.get()));
        const Hdf5Space space(H5Aget_space(attribute.get()));
        text += fmt::format("@{} ", name);
        const H5T_class_t kind = H5Tget_class(stored.get());
        // Lists of references, by which tools find scales, are addresses.
        if (kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_STRING)
            add(stored.get(), space.get(),
                [&](hid_t type, void* to) { return H5Aread(attribute.get(), type, to); });
    }

    template <class Read>
    void add(hid_t stored, hid_t space, const Read& read) {
        const auto count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space));
        const H5T_class_t kind = H5Tget_class(stored);
        const Hdf5Type type(kind == H5T_STRING ? H5Tcopy(stored)
                                               : H5Tget_native_type(stored, H5T_DIR_ASCEND));
        std::vector<char> values(count * H5Tget_size(type.get()));
        if (count == 0 || read(type.get(), values.data()) < 0) return;
        if (kind == H5T_STRING && H5Tis_variable_str(stored) > 0) {
            for (std::size_t i = 0; i < count; ++i) {
                const char* one = reinterpret_cast<char**>(values.data())[i];
                text += std::string(one ? one : "") + "|";
            }
            H5Dvlen_reclaim(type.get(), space, H5P_DEFAULT, values.data());
        } else if (kind == H5T_VLEN) {
            for (std::size_t i = 0; i < count; ++i) {
                const hvl_t& list = reinterpret_cast<hvl_t*>(values.data())[i];
                text += std::string(static_cast<const char*>(list.p), 4 * list.len) + "|";
            }
            H5Dvlen_reclaim(type.get(), space, H5P_DEFAULT, values.data());
        } else {
            text.append(values.data(), values.size());
        }
        text += "\n";
    }
};

// With texts, lists, labels, a plan and telemetry of two lives.
void make_full_result(const std::filesystem::path& result) {
    FieldSpec text = field("text", FieldType::Int32), list = field("list", FieldType::Int32);
    text.shape = FieldShape::Text;
    list.shape = FieldShape::List;
    ResultLayout layout = layout_of(
        some_axes({5, 3}), {field("energy", FieldType::Float64, {{"body", {"1", "2"}}}), text, list});
    layout.notes = {{"model", "a model"}};
    PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    RowsBuilder texts, lists;
    for (std::int32_t i = 0; i < 15; ++i) {
        texts.add(fmt::format("the text of point {}", i));
        lists.add(
            std::span<const std::int32_t>(std::vector<std::int32_t>(static_cast<std::size_t>(i % 4), i)));
    }
    commit_part(parts.life(), layout, {0, 15}, {bytes_of(layout, 0, {0, 15}), texts.take(), lists.take()});
    NodeTelemetry node;
    node.host = "node1";
    node.times_s = {1, 2, 3};
    node.columns = {{"power_w", "W", "0000:01:00.0", {50, 60, 70}},
                    {"cpu_percent", "percent", "", {1, 2, 3}}};
    write_telemetry_file(parts.life(), 0, 0, telemetry_csv(node));
    PlanRecord plan;
    plan.unit = "steps";
    plan.points = 15;
    plan.ranks.resize(2);
    for (RankRecord& rank : plan.ranks) rank.processor = "2 cores of node1";
    voltpile::consolidate(parts.life(), layout,
                          voltpile::scan_parts(parts.life(), layout, layout.whole()).parts, some_provenance(),
                          &plan);
    parts.remove();
}

TEST(FlippedBits, AreFoundWhereverTheyMatter) {
    const TemporaryFolder folder{memory_path()};
    const auto result = folder.path() / "map.h5";
    make_full_result(result);
    ASSERT_TRUE(verify_result(result).ok()) << verify_result(result).damage[0].problem;
    const std::string whole = file_text(result);
    const std::string content = Dump(result).text;
    ASSERT_NE(content.find("the text of point 14"), std::string::npos);
    ASSERT_NE(content.find("0000:01:00.0"), std::string::npos);
    ASSERT_NE(content.find("2 cores of node1"), std::string::npos);
    std::mt19937 random(7);
    const char* stride = std::getenv("VOLTPILE_FLIP_STRIDE");  // 1: every byte, in some minutes
    const std::size_t longest = 2 * static_cast<std::size_t>(stride ? std::atoi(stride) : 250) - 1;
    int found = 0, harmless = 0;
    for (std::size_t at = 0; at < whole.size(); at += 1 + random() % longest) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
        // Under a name of its own: HDF5 may keep a damaged file open.
        const auto copy = folder.path() / fmt::format("{}.h5", at);
        write_text_file(copy, damaged);
        bool intact = false;
        try {
            intact = verify_result(copy).ok();
        } catch (const Error&) {
            // It is no result any more.
        }
        if (intact) {
            EXPECT_EQ(Dump(copy).text, content) << "byte " << at;
        }
        ++(intact ? harmless : found);
        std::filesystem::remove(copy);
    }
    std::printf("%d flipped bits found, %d where nothing is stored\n", found, harmless);
    EXPECT_GT(found, harmless / 4);
}

}  // namespace
}  // namespace voltpile
