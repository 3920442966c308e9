#include "results/hdf5/content_checksum.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "results/hdf5/attribute.h"
#include "results/hdf5/checksum.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/group_io.h"

namespace voltpile {
namespace {

constexpr const char* content_name = "contentCrc32";

herr_t note_attribute(hid_t, const char* name, const H5A_info_t*, void* names) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
}

herr_t note_scale(hid_t, unsigned, hid_t scale, void* names) {
    std::array<char, 1024> text{};
    if (H5Iget_name(scale, text.data(), text.size()) < 0) return -1;
    static_cast<std::vector<std::string>*>(names)->emplace_back(text.data());
    return 0;
}

// References are addresses, which other tools change when they copy a file; the names of the scales count
// instead.
bool counts(std::string_view attribute) {
    constexpr std::array<std::string_view, 4> left_out{content_name, "complete", "DIMENSION_LIST",
                                                       "REFERENCE_LIST"};
    return !attribute.starts_with('_') && std::ranges::find(left_out, attribute) == left_out.end();
}

class ContentSum {
  public:
    std::uint32_t value() const { return crc_; }

    void add_group(hid_t group, bool with_groups) {
        add_attributes(group);
        for (const std::string& name : names_in_group(group)) {
            const Hdf5Handle<H5Oclose> object(
                hdf5_check_at(H5Oopen(group, name.c_str(), H5P_DEFAULT), "read " + name + " of", group));
            const bool is_group = H5Iget_type(object.get()) == H5I_GROUP;
            if (is_group && !with_groups) continue;
            add(name);
            if (is_group)
                add_group(object.get(), with_groups);
            else
                add_dataset(object.get());
        }
    }

  private:
    void add(std::string_view text) {
        crc_ = crc32_of(std::as_bytes(std::span(text)), crc_);
        constexpr std::array<std::byte, 1> end{};  // "ab", "c" is not "a", "bc"
        crc_ = crc32_of(end, crc_);
    }

    void add_dataset(hid_t dataset) {
        add_attributes(dataset);
        const std::vector<hsize_t> dims = dataset_dims(dataset);
        add(fmt::format("{}", fmt::join(dims, " ")));
        const Hdf5Type type(hdf5_check_at(H5Dget_type(dataset), "read", dataset));
        add(fmt::format("{} {}", static_cast<int>(H5Tget_class(type.get())), H5Tget_size(type.get())));
        for (unsigned d = 0; d < dims.size(); ++d) {
            std::vector<std::string> scales;
            hdf5_check_at(H5DSiterate_scales(dataset, d, nullptr, note_scale, &scales), "read", dataset);
            for (const std::string& scale : scales) add(scale);
        }
        H5D_space_status_t status{};  // a manifest has datasets without values
        hdf5_check_at(H5Dget_space_status(dataset, &status), "read", dataset);
        if (H5Tget_class(type.get()) == H5T_STRING && status != H5D_SPACE_STATUS_NOT_ALLOCATED &&
            !has_attribute(dataset, "crc32"))
            for (const std::string& text : read_text_dataset(dataset)) add(text);
    }

    void add_attributes(hid_t object) {
        std::vector<std::string> names;
        hdf5_check_at(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, note_attribute, &names),
                      "read", object);
        for (const std::string& name : names) {
            if (!counts(name)) continue;
            add(name);
            add_values(object, name);
        }
    }

    void add_values(hid_t object, const std::string& name) {
        const std::string action = "read attribute " + name + " of";
        const Hdf5Attribute attribute(
            hdf5_check_at(H5Aopen(object, name.c_str(), H5P_DEFAULT), action, object));
        const Hdf5Type type(hdf5_check_at(H5Aget_type(attribute.get()), action, object));
        const Hdf5Space space(hdf5_check_at(H5Aget_space(attribute.get()), action, object));
        const H5T_class_t kind = H5Tget_class(type.get());
        if (kind == H5T_STRING) {
            for (const std::string& text : read_texts(object, name)) add(text);
        } else if (kind == H5T_INTEGER || kind == H5T_FLOAT) {
            const hid_t memory = kind == H5T_INTEGER ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE;
            std::vector<std::int64_t> values(  // a double has as many bytes
                static_cast<std::size_t>(
                    hdf5_check_at(H5Sget_simple_extent_npoints(space.get()), action, object)));
            hdf5_check_at(H5Aread(attribute.get(), memory, values.data()), action, object);
            crc_ = crc32_of(std::as_bytes(std::span(values)), crc_);
        }
    }

    std::uint32_t crc_ = 0;
};

std::uint32_t content_checksum(hid_t group) {
    ContentSum sum;
    sum.add_group(group, H5Iget_type(group) == H5I_GROUP);
    return sum.value();
}

void check_content(hid_t group, const std::string& name, std::vector<Damage>& damage) {
    const std::string problem =
        "the attributes, texts or datasets of " + name + " do not match their checksum";
    try {
        if (has_attribute(group, content_name) &&
            read_integer(group, content_name) != content_checksum(group))
            damage.push_back({name, {}, problem});
    } catch (const FileError& error) {
        damage.push_back({name, {}, error.what()});
    }
}

}  // namespace

void write_content_checksum(hid_t group) {
    write_integer(group, content_name, content_checksum(group));
}

std::vector<Damage> damaged_content(hid_t file) {
    std::vector<Damage> damage;
    check_content(file, "/", damage);
    for (const char* name : {"check", "plan", "telemetry"}) try {
            if (const std::optional<Hdf5Group> group = open_group(file, name))
                check_content(group->get(), name, damage);
        } catch (const FileError& error) {
            damage.push_back({name, {}, error.what()});
        }
    return damage;
}

}  // namespace voltpile
