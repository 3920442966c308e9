#include "results/part_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "base/build_info.h"
#include "results/hdf5_attribute.h"
#include "results/hdf5_image.h"

namespace voltpile {
namespace {

constexpr std::int64_t part_format = 1;

// [points, extra dimensions...]
std::vector<hsize_t> part_dims(const FieldSpec& field, WorkRange range) {
    std::vector<hsize_t> dims{static_cast<hsize_t>(range.size())};
    for (const FieldDimension& dimension : field.dimensions) dims.push_back(dimension.labels.size());
    return dims;
}

void write_field(hid_t file, const std::string& path, const FieldSpec& field, WorkRange range,
                 const FieldBuffer& data) {
    const std::vector<hsize_t> dims = part_dims(field, range);
    const int rank = static_cast<int>(dims.size());
    // Chunks of at most 1 MiB fit HDF5's chunk cache, so reading a part bit by bit decodes each only once.
    std::vector<hsize_t> chunk = dims;
    chunk[0] = std::clamp<hsize_t>((1 << 20) / field.bytes_per_point(), 1, dims[0]);
    Hdf5Properties creation(hdf5_check(H5Pcreate(H5P_DATASET_CREATE), "write", path));
    hdf5_check(H5Pset_chunk(creation.get(), rank, chunk.data()), "write", path);
    hdf5_check(H5Pset_fletcher32(creation.get()), "write", path);
    Hdf5Space space(hdf5_check(H5Screate_simple(rank, dims.data(), nullptr), "write", path));
    const hid_t type = memory_type(field.type);
    Hdf5Dataset dataset(hdf5_check(
        H5Dcreate2(file, field.name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
        "write", path));
    hdf5_check(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()), "write", path);
}

std::string text(WorkRange range) {
    return fmt::format("[{}, {})", range.begin, range.end);
}

WorkRange checked_range(hid_t file, const std::filesystem::path& path, const ResultLayout& layout) {
    if (read_integer(file, "partFormat") != part_format) throw FileError("written in an unknown format");
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
    write_flag(image.file(), "complete", false);  // a part is never the whole
    for (std::size_t i = 0; i < data.size(); ++i) {
        const FieldSpec& field = layout.fields[i];
        if (data[i].size() != static_cast<std::size_t>(range.size()) * field.bytes_per_point()) {
            throw std::logic_error("the buffer of " + field.name + " does not fit its range");
        }
        write_field(image.file(), path.string(), field, range, data[i]);
    }
    return image.finish();
}

PartFile::PartFile(const std::filesystem::path& path, const ResultLayout& layout)
    : file_(open_hdf5(path.string())),
      fields_(layout.fields),
      range_(checked_range(file_.get(), path, layout)) {
    for (const FieldSpec& field : fields_) {
        Hdf5Dataset dataset = open_dataset(file_.get(), field.name);
        if (field_type(dataset.get()) != field.type ||
            dataset_dims(dataset.get()) != part_dims(field, range_)) {
            throw FileError("its field " + field.name + " has another type or shape than this job's");
        }
        datasets_.push_back(std::move(dataset));
    }
}

void PartFile::read(std::size_t field, WorkRange range, hid_t type, void* data) const {
    const WorkRange local{range.begin - range_.begin, range.end - range_.begin};
    read_points(datasets_[field].get(), fields_[field], local, type, data);
}

void PartFile::verify() const {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        const std::int64_t block = points_per_block(fields_[i]);
        std::vector<std::byte> bytes;
        for (std::int64_t at = range_.begin; at < range_.end; at += block) {
            const WorkRange piece{at, std::min(at + block, range_.end)};
            bytes.resize(static_cast<std::size_t>(piece.size()) * fields_[i].bytes_per_point());
            read(i, piece, memory_type(fields_[i].type), bytes.data());
        }
    }
}

}  // namespace voltpile
