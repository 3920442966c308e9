#include "results/hdf5/table_file.h"

#include <fmt/format.h>
#include <hdf5_hl.h>

#include "results/hdf5/attribute.h"
#include "results/hdf5/layout_file.h"
#include "results/output_file.h"
#include "results/parts/durable_file.h"

namespace voltpile {
namespace {

constexpr const char* row_name = "row";
constexpr const char* title_name = "title";

Hdf5Dataset create_column(hid_t file, const std::string& name, hid_t type, std::size_t rows,
                          const void* values) {
    const hsize_t dims[1] = {rows};
    const Hdf5Space space(hdf5_check_at(H5Screate_simple(1, dims, nullptr), "create " + name + " in", file));
    Hdf5Dataset column(hdf5_check_at(
        H5Dcreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        "create " + name + " in", file));
    hdf5_check_at(H5Dwrite(column.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "write", file);
    return column;
}

Hdf5Dataset write_column(hid_t file, const TableColumn& column) {
    if (const auto* texts = std::get_if<std::vector<std::string>>(&column.values)) {
        const Hdf5Type type = text_type();
        std::vector<const char*> pointers;
        for (const std::string& text : *texts) pointers.push_back(text.c_str());
        return create_column(file, column.name, type.get(), pointers.size(), pointers.data());
    }
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&column.values))
        return create_column(file, column.name, H5T_NATIVE_INT64, integers->size(), integers->data());
    if (const auto* lists = std::get_if<std::vector<std::vector<double>>>(&column.values)) {
        const Hdf5Type type(
            hdf5_check_at(H5Tvlen_create(H5T_NATIVE_DOUBLE), "create " + column.name + " in", file));
        std::vector<hvl_t> pointers;
        for (const std::vector<double>& list : *lists)
            pointers.push_back({list.size(), const_cast<double*>(list.data())});  // hvl_t is for reading too
        return create_column(file, column.name, type.get(), pointers.size(), pointers.data());
    }
    const auto& reals = std::get<std::vector<double>>(column.values);
    return create_column(file, column.name, H5T_NATIVE_DOUBLE, reals.size(), reals.data());
}

bool is_table(const std::filesystem::path& path, const std::string& title) {
    const Hdf5Guard guard;
    try {
        const Hdf5File file = open_hdf5(path.string());
        return has_attribute(file.get(), title_name) && read_text(file.get(), title_name) == title &&
               read_provenance(file.get()).software == software_name;
    } catch (const FileError&) {
        return false;
    }
}

}  // namespace

void check_table_place(const std::filesystem::path& path, const std::string& title, std::string_view what,
                       const std::vector<std::filesystem::path>& kept) {
    check_output_file(
        path, what, {title, [&](const std::filesystem::path& file) { return is_table(file, title); }}, kept);
}

void write_table(const std::filesystem::path& path, const std::string& title,
                 const std::vector<TableColumn>& columns, const Provenance& provenance,
                 const std::vector<std::pair<std::string, std::string>>& notes) {
    const std::filesystem::path temporary = temporary_name(path);
    const Hdf5Guard guard;
    try {
        Hdf5File file = create_hdf5(temporary.string());
        write_text(file.get(), "software", software_name);
        write_text(file.get(), title_name, title);
        write_provenance(file.get(), provenance);
        for (const auto& [name, text] : notes) write_text(file.get(), name, text);
        const std::size_t rows =
            std::visit([](const auto& values) { return values.size(); }, columns.at(0).values);
        std::vector<std::int64_t> numbers(rows);
        for (std::size_t i = 0; i < rows; ++i) numbers[i] = static_cast<std::int64_t>(i);
        const Hdf5Dataset scale = create_column(file.get(), row_name, H5T_NATIVE_INT64, rows, numbers.data());
        hdf5_check_at(H5DSset_scale(scale.get(), row_name), "write", file.get());
        for (const TableColumn& column : columns) {
            const Hdf5Dataset dataset = write_column(file.get(), column);
            hdf5_check_at(H5DSattach_scale(dataset.get(), scale.get(), 0), "write", file.get());
            write_text(dataset.get(), "long_name", column.long_name);
            if (!column.unit.empty()) write_text(dataset.get(), "units", column.unit);
        }
    } catch (...) {
        discard_file(temporary);
        throw;
    }
    publish_file(temporary, path);
}

}  // namespace voltpile
