#include "results/consolidate.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "results/durable_file.h"
#include "results/hdf5_attribute.h"
#include "results/layout_file.h"
#include "results/part_file.h"
#include "work/range_set.h"

namespace voltpile {
namespace {

void copy_field(const PartFile& part, std::size_t index, const FieldSpec& field, hid_t dataset) {
    const std::int64_t block = points_per_block(field);
    std::vector<std::byte> bytes;
    for (std::int64_t at = part.range().begin; at < part.range().end; at += block) {
        const WorkRange piece{at, std::min(at + block, part.range().end)};
        bytes.resize(static_cast<std::size_t>(piece.size()) * field.bytes_per_point());
        part.read(index, piece, memory_type(field.type), bytes.data());
        write_points(dataset, field, piece, bytes.data());
    }
}

void copy_part(const PartInfo& info, const ResultLayout& layout, const std::vector<Hdf5Dataset>& datasets) {
    const PartFile part(info.path, layout);
    for (std::size_t i = 0; i < datasets.size(); ++i) {
        copy_field(part, i, layout.fields[i], datasets[i].get());
    }
}

void write_result(const std::filesystem::path& path, const ResultLayout& layout,
                  const std::vector<PartInfo>& parts, const Provenance& provenance) {
    Hdf5Guard guard;
    Hdf5File file = create_hdf5(path.string());
    write_layout(file.get(), layout);
    write_provenance(file.get(), provenance);
    write_coordinates(file.get(), layout);
    {
        std::vector<Hdf5Dataset> datasets;
        for (const FieldSpec& field : layout.fields) datasets.push_back(open_dataset(file.get(), field.name));
        for (const PartInfo& part : parts) copy_part(part, layout, datasets);
    }
    write_flag(file.get(), "complete", true);
    file.close(path.string());
}

}  // namespace

void consolidate(const std::filesystem::path& result, const ResultLayout& layout,
                 const std::vector<PartInfo>& parts, const Provenance& provenance) {
    RangeSet covered;
    for (const PartInfo& part : parts) covered.insert(part.range);
    if (!covered.contains(layout.whole())) throw std::logic_error("the parts do not cover the whole sweep");
    if (provenance.software != software_name) throw std::logic_error("the software is not voltpile");

    // One fixed name (the part folder's lock lets only one run write this result), so that what a killed run
    // leaves behind is overwritten by the next.
    const std::filesystem::path temporary = result.string() + ".voltpile" + temporary_ending;
    try {
        write_result(temporary, layout, parts, provenance);
    } catch (...) {
        discard_file(temporary);
        throw;
    }
    publish_file(temporary, result);
}

ResultState inspect_result(const std::filesystem::path& result, const std::string& fingerprint) {
    {
        FileDescriptor fd(::open(result.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (fd.get() < 0 && (errno == ENOENT || errno == ENOTDIR)) return ResultState::Absent;
        if (fd.get() < 0) throw FileError("open", result.string(), errno, ExitCode::BadInput);
    }
    if (!std::filesystem::is_regular_file(result)) return ResultState::NotOurs;
    Hdf5Guard guard;
    try {
        Hdf5File file = open_hdf5(result.string());
        if (!has_attribute(file.get(), "fingerprint") ||
            read_provenance(file.get()).software != software_name) {
            return ResultState::NotOurs;
        }
        const bool complete = read_integer(file.get(), "complete") == 1;
        const bool same = read_text(file.get(), "fingerprint") == fingerprint;
        return complete && same ? ResultState::Complete : ResultState::OtherJob;
    } catch (const FileError&) {
        return ResultState::NotOurs;  // not HDF5, or not readable as such
    }
}

}  // namespace voltpile
