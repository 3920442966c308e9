#include "results/result_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>

#include "base/error.h"
#include "results/admission.h"
#include "results/hdf5/attribute.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/layout_file.h"
#include "results/hdf5/refined_levels.h"
#include "results/hdf5/rows_io.h"
#include "results/parts/lives_journal.h"
#include "results/parts/part_file.h"
#include "results/parts/part_listing.h"
#include "results/parts/refined_parts.h"
#include "results/result_state.h"
#include "results/rows.h"

namespace voltpile {

struct ResultReader::Impl {
    std::filesystem::path path;
    ResultLayout layout;
    Provenance provenance;
    bool complete = false;
    RangeSet completed;
    std::int64_t done = 0;
    std::optional<std::int64_t> computed;

    // Either the datasets of the file, or the parts and the one part that is open.
    Hdf5File file;
    std::vector<Hdf5Dataset> datasets;
    std::vector<PartInfo> parts;
    std::optional<PartFile> open_part;
    std::optional<RefinedParts> refined_parts;

    void open_file();
    void open_parts(const std::filesystem::path& folder);
    void read_file(std::size_t field, WorkRange range, double* values) const;
    void read_parts(std::size_t field, WorkRange range, double* values);
    void read_refined(std::size_t field, WorkRange range, double* values);
    FieldBuffer rows_of_parts(std::size_t field, WorkRange range);
    template <class Use>
    void for_each_piece(WorkRange range, Use use);
    std::size_t index_of(const FieldSpec& field) const;
};

void ResultReader::Impl::open_file() {
    const ResultFile found = read_result_file(path, CheckDepth::Structure);
    if (found.state == ResultState::NotOurs) throw JobError(path.string() + " is no result of voltpile");
    if (found.state == ResultState::Newer)
        throw JobError(
            fmt::format("{} was written by a newer version of voltpile ({})", path.string(), found.problem));
    if (found.state == ResultState::Damaged)
        throw JobError(fmt::format("{} is a damaged HDF5 file, or a result that was never completed ({})",
                                   path.string(), found.problem));
    file = open_hdf5(path.string());
    layout = read_layout(file.get());
    provenance = read_provenance(file.get());
    for (const FieldSpec& field : layout.fields) datasets.push_back(open_dataset(file.get(), field.name));
    complete = true;
    completed = RangeSet(layout.whole());
    done = completed.size();
    computed = read_computed_points(file.get());
}

void ResultReader::Impl::open_parts(const std::filesystem::path& folder) {
    std::optional<ResultLayout> manifest = read_manifest(folder);
    if (!manifest) throw JobError(folder.string() + " holds no unfinished result of voltpile");
    layout = std::move(*manifest);
    provenance = read_manifest_provenance(folder);
    const std::vector<LifeRecord> lives = read_lives(folder);
    provenance.lives = static_cast<std::int64_t>(lives.size());
    if (!lives.empty()) provenance.batch_job = lives.back().run.batch_job;
    if (!lives.empty()) provenance.restart_count = lives.back().run.restart_count;
    parts = list_parts(folder, layout);
    for (const PartInfo& part : parts) completed.insert(part.range);
    done = completed.size();
    if (!layout.refinement) return;
    refined_parts.emplace(layout, parts);
    completed =
        completed.contains(refined_parts->order().level_range(0)) ? RangeSet(layout.whole()) : RangeSet();
}

void ResultReader::Impl::read_file(std::size_t field, WorkRange range, double* values) const {
    read_points(datasets[field].get(), layout.fields[field], range, H5T_NATIVE_DOUBLE, values);
}

// Calls use(part, piece) for every part that has points of the range, in order.
template <class Use>
void ResultReader::Impl::for_each_piece(WorkRange range, Use use) {
    auto part = std::partition_point(parts.begin(), parts.end(),
                                     [&](const PartInfo& p) { return p.range.end <= range.begin; });
    for (; part != parts.end() && part->range.begin < range.end; ++part) {
        const WorkRange piece{std::max(range.begin, part->range.begin), std::min(range.end, part->range.end)};
        if (!open_part || open_part->range() != part->range) open_part.emplace(part->path, layout);
        use(*open_part, piece);
    }
}

void ResultReader::Impl::read_parts(std::size_t field, WorkRange range, double* values) {
    const std::size_t width = layout.fields[field].values_per_point();
    for_each_piece(range, [&](const PartFile& part, WorkRange piece) {
        double* to = values + static_cast<std::size_t>(piece.begin - range.begin) * width;
        part.read(field, piece, H5T_NATIVE_DOUBLE, to);
    });
}

void ResultReader::Impl::read_refined(std::size_t field, WorkRange range, double* values) {
    const RefinedOrder& order = refined_parts->order();
    const auto width = static_cast<std::int64_t>(layout.fields[field].values_per_point());
    for_each_block(order, 0, [&](std::int64_t plane, WorkRange rows) {
        const std::int64_t first = (plane * order.height() + rows.begin) * order.width();
        const WorkRange block{first, first + rows.size() * order.width()};
        if (!block.overlaps(range)) return;
        refined_parts->begin(plane, rows);
        const std::vector<double> found = refined_parts->numbers(field);
        const WorkRange common{std::max(block.begin, range.begin), std::min(block.end, range.end)};
        std::copy_n(found.data() + (common.begin - block.begin) * width, common.size() * width,
                    values + (common.begin - range.begin) * width);
    });
}

FieldBuffer ResultReader::Impl::rows_of_parts(std::size_t field, WorkRange range) {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::byte> values;
    const auto up_to = [&](std::int64_t point) {  // missing points have empty rows
        offsets.resize(static_cast<std::size_t>(point - range.begin) + 1, offsets.back());
    };
    for_each_piece(range, [&](const PartFile& part, WorkRange piece) {
        up_to(piece.begin);
        const FieldBuffer buffer = part.read_rows(field, piece);
        const RowsView rows(buffer, piece.size(), layout.fields[field].value_bytes());
        const std::int64_t before = offsets.back();
        for (const std::int64_t offset : rows.offsets().subspan(1)) offsets.push_back(before + offset);
        values.insert(values.end(), rows.values().begin(), rows.values().end());
    });
    up_to(range.end);
    return rows_buffer(offsets, values);
}

std::size_t ResultReader::Impl::index_of(const FieldSpec& field) const {
    const auto found =
        std::ranges::find_if(layout.fields, [&](const FieldSpec& f) { return f.name == field.name; });
    if (found == layout.fields.end()) throw std::logic_error("the result has no field " + field.name);
    return static_cast<std::size_t>(found - layout.fields.begin());
}

ResultReader::ResultReader(const std::filesystem::path& path) {
    Hdf5Guard guard;
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    const std::filesystem::path folder = parts_path(path);
    const ResultSource source = result_source(path);
    if (source == ResultSource::None)
        throw JobError("there is no result " + path.string() + ", finished or not");
    bool is_open = false;
    try {
        if (source == ResultSource::Parts) {
            impl->open_parts(folder);
            is_open = true;
        }
    } catch (const Error&) {
        if (result_source(path) != ResultSource::File)
            throw;  // a run that has just finished has removed the parts
        impl = std::make_unique<Impl>();
        impl->path = path;
    }
    if (!is_open) impl->open_file();
    impl_ = std::move(impl);
}

ResultReader::~ResultReader() {
    Hdf5Guard guard;
    impl_.reset();
}

const std::filesystem::path& ResultReader::path() const {
    return impl_->path;
}
const ResultLayout& ResultReader::layout() const {
    return impl_->layout;
}
const Provenance& ResultReader::provenance() const {
    return impl_->provenance;
}
bool ResultReader::complete() const {
    return impl_->complete;
}
const RangeSet& ResultReader::completed() const {
    return impl_->completed;
}
std::optional<std::int64_t> ResultReader::computed() const {
    return impl_->computed;
}
std::int64_t ResultReader::done() const {
    return impl_->done;
}

std::vector<double> ResultReader::read(const FieldSpec& field, WorkRange range) const {
    const std::size_t index = impl_->index_of(field);
    std::vector<double> values(
        static_cast<std::size_t>(range.size()) * impl_->layout.fields[index].values_per_point(),
        std::numeric_limits<double>::quiet_NaN());
    Hdf5Guard guard;
    if (impl_->complete) {
        impl_->read_file(index, range, values.data());
    } else if (impl_->refined_parts) {
        if (!impl_->completed.empty()) impl_->read_refined(index, range, values.data());
    } else {
        impl_->read_parts(index, range, values.data());
    }
    return values;
}

FieldBuffer ResultReader::read_rows(const FieldSpec& field, WorkRange range) const {
    const std::size_t index = impl_->index_of(field);
    Hdf5Guard guard;
    if (!impl_->complete) return impl_->rows_of_parts(index, range);
    return voltpile::read_rows(impl_->datasets[index].get(), impl_->layout.fields[index], range);
}

}  // namespace voltpile
