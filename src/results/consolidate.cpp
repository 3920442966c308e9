#include "results/consolidate.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>

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

}  // namespace

struct Consolidation::Impl {
    std::filesystem::path result, temporary;
    ResultLayout layout;
    RangeSet covered;
    Hdf5File file;
    std::vector<Hdf5Dataset> datasets;
    bool published = false;
};

Consolidation::Consolidation(std::filesystem::path result, const ResultLayout& layout)
    : impl_(std::make_unique<Impl>()) {
    impl_->result = std::move(result);
    // One fixed name (the part folder's lock lets only one run write this result), so that what a killed run
    // leaves behind is overwritten by the next.
    impl_->temporary = impl_->result.string() + ".voltpile" + temporary_ending;
    impl_->layout = layout;
    Hdf5Guard guard;
    try {
        impl_->file = create_hdf5(impl_->temporary.string());
        write_layout(impl_->file.get(), layout);
        write_coordinates(impl_->file.get(), layout);
        for (const FieldSpec& field : layout.fields)
            impl_->datasets.push_back(open_dataset(impl_->file.get(), field.name));
    } catch (...) {
        impl_->datasets.clear();
        impl_->file = {};
        discard_file(impl_->temporary);
        throw;
    }
}

Consolidation::~Consolidation() {
    if (impl_->published) return;
    Hdf5Guard guard;
    impl_->datasets.clear();
    impl_->file = {};
    discard_file(impl_->temporary);
}

void Consolidation::add(const PartInfo& part) {
    Hdf5Guard guard;
    copy_part(part, impl_->layout, impl_->datasets);
    impl_->covered.insert(part.range);
}

bool Consolidation::covers_all() const {
    return impl_->covered.contains(impl_->layout.whole());
}

void Consolidation::publish(const Provenance& provenance) {
    if (!covers_all()) throw std::logic_error("the parts do not cover the whole sweep");
    if (provenance.software != software_name) throw std::logic_error("the software is not voltpile");
    {
        Hdf5Guard guard;
        impl_->datasets.clear();
        write_provenance(impl_->file.get(), provenance);
        write_flag(impl_->file.get(), "complete", true);
        impl_->file.close(impl_->temporary.string());
    }
    publish_file(impl_->temporary, impl_->result);
    impl_->published = true;
}

void consolidate(const std::filesystem::path& result, const ResultLayout& layout,
                 const std::vector<PartInfo>& parts, const Provenance& provenance) {
    Consolidation consolidation(result, layout);
    for (const PartInfo& part : parts) consolidation.add(part);
    consolidation.publish(provenance);
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
