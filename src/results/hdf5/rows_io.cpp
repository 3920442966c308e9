#include "results/hdf5/rows_io.h"

#include <span>
#include <string>

#include "results/hdf5/attribute.h"
#include "results/hdf5/field_io.h"
#include "results/rows.h"

namespace voltpile {
namespace {

constexpr const char* nul_replacement = "\xEF\xBF\xBD";

std::string without_nul(std::string_view text) {
    std::string clean;
    for (const char c : text) {
        if (c == '\0')
            clean += nul_replacement;
        else
            clean += c;
    }
    return clean;
}

// Owns the memory that HDF5 has allocated for values that were read.
class Reclaimed {
  public:
    Reclaimed(hid_t type, std::size_t count, void* values) : type_(type), count_(count), values_(values) {}
    ~Reclaimed() {
        const Hdf5Space space(H5Screate_simple(1, &count_, nullptr));
        H5Dvlen_reclaim(type_, space.get(), H5P_DEFAULT, values_);
    }
    Reclaimed(const Reclaimed&) = delete;
    Reclaimed& operator=(const Reclaimed&) = delete;

  private:
    hid_t type_;
    hsize_t count_;
    void* values_;
};

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
}

}  // namespace

Hdf5Type rows_type(const FieldSpec& field) {
    if (field.shape == FieldShape::Text) return text_type();
    return Hdf5Type(hdf5_check(H5Tvlen_create(memory_type(field.type)), "create", "an HDF5 type"));
}

void write_rows(hid_t dataset, const FieldSpec& field, WorkRange range, const FieldBuffer& rows) {
    const RowsView view(rows, range.size(), field.value_bytes());
    const Hdf5Type type = rows_type(field);
    if (field.shape == FieldShape::Text) {
        std::vector<std::string> texts;
        for (std::int64_t i = 0; i < view.size(); ++i) texts.push_back(without_nul(view.text(i)));
        std::vector<const char*> pointers;
        for (const std::string& text : texts) pointers.push_back(text.c_str());
        return write_points(dataset, field, range, type.get(), pointers.data());
    }
    std::vector<hvl_t> lists;
    for (std::int64_t i = 0; i < view.size(); ++i)
        lists.push_back({static_cast<std::size_t>(view.length(i)),
                         const_cast<std::byte*>(view.bytes(i).data())});  // hvl_t is for reading too
    write_points(dataset, field, range, type.get(), lists.data());
}

std::vector<std::byte> stored_rows(const FieldSpec& field, const FieldBuffer& rows, std::int64_t points) {
    const RowsView view(rows, points, field.value_bytes());
    std::vector<std::byte> bytes;
    for (std::int64_t i = 0; i < points; ++i) {
        const std::string text = field.shape == FieldShape::Text ? without_nul(view.text(i)) : "";
        const std::int64_t length = field.shape == FieldShape::Text ? std::ssize(text) : view.length(i);
        append(bytes, std::as_bytes(std::span(&length, 1)));
        append(bytes, field.shape == FieldShape::Text ? std::as_bytes(std::span(text)) : view.bytes(i));
    }
    return bytes;
}

FieldBuffer read_rows(hid_t dataset, const FieldSpec& field, WorkRange range) {
    const Hdf5Type type = rows_type(field);
    const auto count = static_cast<std::size_t>(range.size());
    RowsBuilder rows;
    if (field.shape == FieldShape::Text) {
        std::vector<char*> texts(count, nullptr);
        read_points(dataset, field, range, type.get(), texts.data());
        const Reclaimed owner(type.get(), count, texts.data());
        for (const char* text : texts) rows.add(std::string_view(text ? text : ""));
        return rows.take();
    }
    std::vector<hvl_t> lists(count, hvl_t{0, nullptr});
    read_points(dataset, field, range, type.get(), lists.data());
    const Reclaimed owner(type.get(), count, lists.data());
    std::vector<std::int64_t> offsets{0};
    std::vector<std::byte> values;
    for (const hvl_t& list : lists) {
        const auto* first = static_cast<const std::byte*>(list.p);
        values.insert(values.end(), first, first + list.len * field.value_bytes());
        offsets.push_back(offsets.back() + static_cast<std::int64_t>(list.len));
    }
    return rows_buffer(offsets, values);
}

}  // namespace voltpile
