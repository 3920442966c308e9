#include "results/parts/part_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "base/build_info.h"
#include "results/hdf5/attribute.h"
#include "results/hdf5/checksum.h"
#include "results/hdf5/image.h"
#include "results/rows.h"

namespace voltpile {
namespace {

constexpr std::int64_t part_format = 1;
constexpr std::int64_t most_bytes_at_once = 4 << 20;
// HDF5 has checksums, too, but recomputes them for values that another program writes into a part.
constexpr const char* checksum_name = "crc32";

// [points, extra dimensions...]
std::vector<hsize_t> part_dims(const FieldSpec& field, WorkRange range) {
    std::vector<hsize_t> dims{static_cast<hsize_t>(range.size())};
    for (const FieldDimension& dimension : field.dimensions) dims.push_back(dimension.labels.size());
    return dims;
}

// Without values (lists that are all empty) there is no chunk for a checksum.
void write_dataset(hid_t file, const std::string& path, const std::string& name, hid_t type,
                   const std::vector<hsize_t>& dims, std::size_t bytes_per_row, const void* data) {
    const int rank = static_cast<int>(dims.size());
    Hdf5Properties creation(hdf5_check(H5Pcreate(H5P_DATASET_CREATE), "write", path));
    if (dims[0] > 0) {
        // Chunks of at most 1 MiB fit HDF5's chunk cache, so reading a part piece by piece decodes each chunk
        // once.
        std::vector<hsize_t> chunk = dims;
        chunk[0] = std::clamp<hsize_t>((1 << 20) / bytes_per_row, 1, dims[0]);
        hdf5_check(H5Pset_chunk(creation.get(), rank, chunk.data()), "write", path);
        hdf5_check(H5Pset_fletcher32(creation.get()), "write", path);
    }
    Hdf5Space space(hdf5_check(H5Screate_simple(rank, dims.data(), nullptr), "write", path));
    Hdf5Dataset dataset(hdf5_check(
        H5Dcreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), "write",
        path));
    if (dims[0] == 0) return;
    hdf5_check(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "write", path);
}

hid_t stored_type(const FieldSpec& field) {
    return field.shape == FieldShape::Text ? H5T_NATIVE_UINT8 : memory_type(field.type);
}

std::string offsets_name(const FieldSpec& field) {
    return field.name + ".offsets";
}

void write_field(hid_t file, const std::string& path, const FieldSpec& field, WorkRange range,
                 const FieldBuffer& data) {
    if (!field.variable()) {
        if (data.size() != static_cast<std::size_t>(range.size()) * field.bytes_per_point())
            throw std::logic_error("the buffer of " + field.name + " does not fit its range");
        write_dataset(file, path, field.name, stored_type(field), part_dims(field, range),
                      field.bytes_per_point(), data.data());
        return;
    }
    const RowsView rows(data, range.size(), field.value_bytes());
    write_dataset(file, path, field.name, stored_type(field), {static_cast<hsize_t>(rows.offsets().back())},
                  field.value_bytes(), rows.values().data());
    write_dataset(file, path, offsets_name(field), H5T_NATIVE_INT64, {rows.offsets().size()},
                  sizeof(std::int64_t), rows.offsets().data());
}

bool has_type(hid_t dataset, hid_t type) {
    Hdf5Type found(hdf5_check_at(H5Dget_type(dataset), "read", dataset));
    return H5Tequal(found.get(), type) > 0;
}

// Describes offsets and values as the file has them: lists of numbers.
FieldSpec plain(FieldType type) {
    FieldSpec field;
    field.type = type;
    return field;
}

// Continues the checksum `crc` with the values of a dataset, read in blocks.
std::uint32_t checksum_of(hid_t dataset, const FieldSpec& field, hid_t type, std::int64_t points,
                          std::uint32_t crc) {
    const std::int64_t block = most_bytes_at_once / static_cast<std::int64_t>(field.bytes_per_point()) + 1;
    std::vector<std::byte> bytes;
    for (std::int64_t at = 0; at < points; at += block) {
        const WorkRange piece{at, std::min(at + block, points)};
        bytes.resize(static_cast<std::size_t>(piece.size()) * field.values_per_point() * H5Tget_size(type));
        read_points(dataset, field, piece, type, bytes.data());
        crc = crc32_of(bytes, crc);
    }
    return crc;
}

std::string text(WorkRange range) {
    return fmt::format("[{}, {})", range.begin, range.end);
}

WorkRange checked_range(hid_t file, const std::filesystem::path& path, const ResultLayout& layout) {
    if (const std::int64_t format = read_integer(file, "partFormat"); format != part_format)
        throw FileError(fmt::format(
            "written by another version of voltpile: its format is {}, and this program reads format {}",
            format, part_format));
    const std::string fingerprint = read_text(file, "fingerprint");
    if (fingerprint != layout.fingerprint) {
        throw FileError("of another job: its fingerprint is " + fingerprint + ", this job's " +
                        layout.fingerprint);
    }
    const WorkRange range{read_integer(file, "begin"), read_integer(file, "end")};
    const std::optional<WorkRange> named = parse_part_name(path.filename().string());
    if (!named || *named != range) throw FileError("misnamed: it holds the points " + text(range));
    if (range.empty() || range.begin < 0 || range.end > layout.point_count()) {
        throw FileError("outside of the sweep's " + points_text(layout.point_count()));
    }
    return range;
}

}  // namespace

std::string part_name(WorkRange range) {
    return fmt::format("part-{:012}-{:012}.h5", range.begin, range.end);
}

std::optional<WorkRange> parse_part_name(const std::string& file_name) {
    WorkRange range;
    const char* at = file_name.data() + std::min<std::size_t>(5, file_name.size());
    const char* const end = file_name.data() + file_name.size();
    const auto first = std::from_chars(at, end, range.begin);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
    if (std::from_chars(first.ptr + 1, end, range.end).ec != std::errc()) return std::nullopt;
    if (range.begin < 0 || range.end < 0 || part_name(range) != file_name) return std::nullopt;
    return range;
}

std::optional<std::string> part_fingerprint(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
    Hdf5Guard guard;
    try {
        const Hdf5File file = open_hdf5(path.string());
        if (read_integer(file.get(), "partFormat") != part_format) return std::nullopt;
        return read_text(file.get(), "fingerprint");
    } catch (const FileError&) {
        return std::nullopt;
    }
}

std::vector<std::byte> part_image(const std::filesystem::path& path, const ResultLayout& layout,
                                  WorkRange range, const std::vector<FieldBuffer>& data) {
    if (range.empty() || data.size() != layout.fields.size()) {
        throw std::logic_error("a part needs points and one buffer per field");
    }
    Hdf5Guard guard;
    Hdf5Image image(path.string(), static_cast<std::size_t>(range.size() * layout.bytes_per_point()));
    write_fixed_text(image.file(), "app", layout.app);
    write_fixed_text(image.file(), "fingerprint", layout.fingerprint);
    write_fixed_text(image.file(), "softwareVersion", build_info().version);
    write_integer(image.file(), "partFormat", part_format);
    write_integer(image.file(), "begin", range.begin);
    write_integer(image.file(), "end", range.end);
    write_flag(image.file(), "complete", false);  // a part is never complete
    std::uint32_t crc = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
        write_field(image.file(), path.string(), layout.fields[i], range, data[i]);
        crc = crc32_of(data[i], crc);
    }
    write_integer(image.file(), checksum_name, crc);
    return image.finish();
}

PartFile::PartFile(const std::filesystem::path& path, const ResultLayout& layout)
    : file_(open_hdf5(path.string())),
      fields_(layout.fields),
      range_(checked_range(file_.get(), path, layout)) {
    for (const FieldSpec& field : fields_) {
        Hdf5Dataset dataset = open_dataset(file_.get(), field.name);
        Hdf5Dataset offsets;
        std::vector<hsize_t> dims = part_dims(field, range_);
        if (field.variable()) {
            offsets = open_dataset(file_.get(), offsets_name(field));
            if (!has_type(offsets.get(), H5T_NATIVE_INT64) ||
                dataset_dims(offsets.get()) != std::vector<hsize_t>{dims[0] + 1})
                throw FileError("its field " + field.name + " does not have one offset per point plus one");
            std::int64_t end = 0;
            read_points(offsets.get(), plain(FieldType::Int64), {range_.size(), range_.size() + 1},
                        H5T_NATIVE_INT64, &end);
            dims = {static_cast<hsize_t>(end)};
        }
        if (!has_type(dataset.get(), stored_type(field)) || dataset_dims(dataset.get()) != dims)
            throw FileError("its field " + field.name + " has another type or shape than this job's");
        datasets_.push_back(std::move(dataset));
        offsets_.push_back(std::move(offsets));
    }
}

void PartFile::read(std::size_t field, WorkRange range, hid_t type, void* data) const {
    const WorkRange local{range.begin - range_.begin, range.end - range_.begin};
    read_points(datasets_[field].get(), fields_[field], local, type, data);
}

FieldBuffer PartFile::read_rows(std::size_t field, WorkRange range) const {
    const FieldSpec& spec = fields_[field];
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(range.size()) + 1);
    read_points(offsets_[field].get(), plain(FieldType::Int64),
                {range.begin - range_.begin, range.end - range_.begin + 1}, H5T_NATIVE_INT64, offsets.data());
    const auto end = static_cast<std::int64_t>(dataset_dims(datasets_[field].get()).front());
    if (offsets.front() < 0 || offsets.back() > end || !std::ranges::is_sorted(offsets))
        throw FileError("its field " + spec.name + " has offsets out of range");
    const WorkRange of_values{offsets.front(), offsets.back()};
    std::vector<std::byte> values(static_cast<std::size_t>(of_values.size()) * spec.value_bytes());
    read_points(datasets_[field].get(), plain(spec.type), of_values, stored_type(spec), values.data());
    return rows_buffer(offsets, values);
}

void PartFile::verify() const {
    std::uint32_t crc = 0;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        const hid_t values = datasets_[i].get();
        if (!fields_[i].variable()) {
            crc = checksum_of(values, fields_[i], stored_type(fields_[i]), range_.size(), crc);
            continue;
        }
        const std::int64_t block = points_per_block(fields_[i]);
        for (std::int64_t at = range_.begin; at < range_.end; at += block)
            read_rows(i, {at, std::min(at + block, range_.end)});  // checks the offsets
        crc =
            checksum_of(offsets_[i].get(), plain(FieldType::Int64), H5T_NATIVE_INT64, range_.size() + 1, crc);
        crc = checksum_of(values, plain(fields_[i].type), stored_type(fields_[i]),
                          static_cast<std::int64_t>(dataset_dims(values).front()), crc);
    }
    if (has_checksum() && read_integer(file_.get(), checksum_name) != crc)
        throw FileError("its values do not match their checksum: another program may have changed them");
}

bool PartFile::has_checksum() const {
    return has_attribute(file_.get(), checksum_name);
}

}  // namespace voltpile
