#include "results/hdf5/attribute.h"

#include <string_view>

namespace voltpile {
namespace {

Hdf5Space scalar_space(hid_t object) {
    return Hdf5Space(hdf5_check_at(H5Screate(H5S_SCALAR), "write", object));
}

Hdf5Space list_space(hid_t object, std::size_t size) {
    hsize_t dims[1] = {size};
    return Hdf5Space(hdf5_check_at(H5Screate_simple(1, dims, nullptr), "write", object));
}

void write(hid_t object, const std::string& name, hid_t type, hid_t space, const void* value) {
    const std::string action = "write attribute " + name + " of";
    Hdf5Attribute attribute(hdf5_check_at(
        H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), action, object));
    if (value) hdf5_check_at(H5Awrite(attribute.get(), type, value), action, object);
}

std::string read_action(const std::string& name) {
    return "read attribute " + name + " of";
}

Hdf5Attribute open_attribute(hid_t object, const std::string& name) {
    return Hdf5Attribute(
        hdf5_check_at(H5Aopen(object, name.c_str(), H5P_DEFAULT), read_action(name), object));
}

// Reads texts of fixed or variable length through `read_into(memory type, destination)`.
template <class Read>
std::vector<std::string> texts_from(hid_t stored, hid_t space, hid_t object, Read read_into) {
    if (H5Tget_class(stored) != H5T_STRING) throw hdf5_error_at("read a text of", object);
    const auto count =
        static_cast<std::size_t>(hdf5_check_at(H5Sget_simple_extent_npoints(space), "read", object));
    std::vector<std::string> texts;
    if (count == 0) return texts;
    Hdf5Type memory(hdf5_check_at(H5Tcopy(stored), "read", object));
    if (H5Tis_variable_str(stored) > 0) {
        std::vector<char*> values(count, nullptr);
        hdf5_check_at(read_into(memory.get(), values.data()), "read", object);
        for (const char* value : values) texts.emplace_back(value ? value : "");
        H5Dvlen_reclaim(memory.get(), space, H5P_DEFAULT, values.data());
    } else {
        const std::size_t width = H5Tget_size(stored);
        std::vector<char> values(count * width);
        hdf5_check_at(read_into(memory.get(), values.data()), "read", object);
        for (std::size_t i = 0; i < count; ++i) {
            std::string_view value(values.data() + i * width, width);
            texts.emplace_back(value.substr(0, value.find('\0')));
        }
    }
    return texts;
}

template <class T>
T read_scalar(hid_t object, const std::string& name, hid_t type) {
    Hdf5Attribute attribute = open_attribute(object, name);
    Hdf5Space space(hdf5_check_at(H5Aget_space(attribute.get()), read_action(name), object));
    if (H5Sget_simple_extent_npoints(space.get()) != 1) throw hdf5_error_at(read_action(name), object);
    T value{};
    hdf5_check_at(H5Aread(attribute.get(), type, &value), read_action(name), object);
    return value;
}

}  // namespace

Hdf5Type text_type() {
    Hdf5Type type(hdf5_check(H5Tcopy(H5T_C_S1), "create", "an HDF5 type"));
    hdf5_check(H5Tset_size(type.get(), H5T_VARIABLE), "create", "an HDF5 type");
    hdf5_check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "create", "an HDF5 type");
    return type;
}

void write_text(hid_t object, const std::string& name, const std::string& value) {
    const char* text = value.c_str();
    write(object, name, text_type().get(), scalar_space(object).get(), &text);
}

void write_texts(hid_t object, const std::string& name, const std::vector<std::string>& values) {
    std::vector<const char*> texts;
    for (const std::string& value : values) texts.push_back(value.c_str());
    write(object, name, text_type().get(), list_space(object, texts.size()).get(),
          texts.empty() ? nullptr : texts.data());
}

void write_integer(hid_t object, const std::string& name, std::int64_t value) {
    write(object, name, H5T_NATIVE_INT64, scalar_space(object).get(), &value);
}

void write_integers(hid_t object, const std::string& name, const std::vector<int>& values) {
    write(object, name, H5T_NATIVE_INT, list_space(object, values.size()).get(), values.data());
}

void write_unsigned_integers(hid_t object, const std::string& name,
                             const std::vector<std::uint32_t>& values) {
    write(object, name, H5T_NATIVE_UINT32, list_space(object, values.size()).get(), values.data());
}

void write_flag(hid_t object, const std::string& name, bool value) {
    const int number = value ? 1 : 0;
    if (!has_attribute(object, name)) {
        write(object, name, H5T_NATIVE_INT, scalar_space(object).get(), &number);
        return;
    }
    Hdf5Attribute attribute = open_attribute(object, name);
    hdf5_check_at(H5Awrite(attribute.get(), H5T_NATIVE_INT, &number), "write attribute " + name + " of",
                  object);
}

void write_real(hid_t object, const std::string& name, double value) {
    write(object, name, H5T_NATIVE_DOUBLE, scalar_space(object).get(), &value);
}

void write_fixed_text(hid_t object, const std::string& name, const std::string& value) {
    Hdf5Type type(hdf5_check_at(H5Tcopy(H5T_C_S1), "write", object));
    hdf5_check_at(H5Tset_size(type.get(), value.size() + 1), "write", object);
    hdf5_check_at(H5Tset_cset(type.get(), H5T_CSET_UTF8), "write", object);
    write(object, name, type.get(), scalar_space(object).get(), value.c_str());
}

bool has_attribute(hid_t object, const std::string& name) {
    return hdf5_check_at(H5Aexists(object, name.c_str()), read_action(name), object) > 0;
}

std::vector<std::string> read_texts(hid_t object, const std::string& name) {
    Hdf5Attribute attribute = open_attribute(object, name);
    Hdf5Type stored(hdf5_check_at(H5Aget_type(attribute.get()), read_action(name), object));
    Hdf5Space space(hdf5_check_at(H5Aget_space(attribute.get()), read_action(name), object));
    return texts_from(stored.get(), space.get(), object,
                      [&](hid_t memory, void* to) { return H5Aread(attribute.get(), memory, to); });
}

std::string read_text(hid_t object, const std::string& name) {
    std::vector<std::string> texts = read_texts(object, name);
    if (texts.size() != 1) throw hdf5_error_at(read_action(name), object);
    return texts.front();
}

std::int64_t read_integer(hid_t object, const std::string& name) {
    return read_scalar<std::int64_t>(object, name, H5T_NATIVE_INT64);
}

std::vector<std::uint32_t> read_unsigned_integers(hid_t object, const std::string& name) {
    const Hdf5Attribute attribute = open_attribute(object, name);
    const Hdf5Space space(hdf5_check_at(H5Aget_space(attribute.get()), read_action(name), object));
    std::vector<std::uint32_t> values(static_cast<std::size_t>(
        hdf5_check_at(H5Sget_simple_extent_npoints(space.get()), read_action(name), object)));
    hdf5_check_at(H5Aread(attribute.get(), H5T_NATIVE_UINT32, values.data()), read_action(name), object);
    return values;
}

double read_real(hid_t object, const std::string& name) {
    return read_scalar<double>(object, name, H5T_NATIVE_DOUBLE);
}

std::vector<std::string> read_text_dataset(hid_t dataset) {
    Hdf5Type stored(hdf5_check_at(H5Dget_type(dataset), "read", dataset));
    Hdf5Space space(hdf5_check_at(H5Dget_space(dataset), "read", dataset));
    return texts_from(stored.get(), space.get(), dataset, [&](hid_t memory, void* to) {
        return H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
    });
}

}  // namespace voltpile
