#include "results/parts/consolidate.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/phase.h"
#include "results/hdf5/attribute.h"
#include "results/hdf5/checksum.h"
#include "results/hdf5/content_checksum.h"
#include "results/hdf5/layout_file.h"
#include "results/hdf5/plan_group.h"
#include "results/hdf5/refined_levels.h"
#include "results/hdf5/result_check.h"
#include "results/hdf5/rows_io.h"
#include "results/hdf5/telemetry_file.h"
#include "results/parts/durable_file.h"
#include "results/parts/part_file.h"
#include "results/parts/refined_parts.h"
#include "work/range_set.h"

namespace voltpile {
namespace {

void copy_field(const PartFile& part, std::size_t index, const FieldSpec& field, hid_t dataset,
                BlockCrc32& checksum) {
    const std::int64_t block = points_per_block(field);
    std::vector<std::byte> bytes;
    for (WorkRange piece{part.range().begin, part.range().begin}; piece.end < part.range().end;) {
        piece = {piece.end, checksum.piece_end(piece.end, std::min(piece.end + block, part.range().end))};
        bytes.resize(static_cast<std::size_t>(piece.size()) * field.bytes_per_point());
        part.read(index, piece, memory_type(field.type), bytes.data());
        write_points(dataset, field, piece, memory_type(field.type), bytes.data());
        checksum.add(piece.begin, piece.end, bytes);
        count_step(Phase::Commit);
    }
}

// Writes the values of a range of points and adds them to their checksum.
void write_values(std::span<const std::byte> values, WorkRange points, const FieldSpec& field, hid_t dataset,
                  BlockCrc32& checksum) {
    for (WorkRange piece{points.begin, points.begin}; piece.end < points.end;) {
        piece = {piece.end, checksum.piece_end(piece.end, points.end)};
        const std::size_t bytes = static_cast<std::size_t>(piece.size()) * field.bytes_per_point();
        write_points(dataset, field, piece, memory_type(field.type), values.data());
        checksum.add(piece.begin, piece.end, values.first(bytes));
        values = values.subspan(bytes);
    }
}

void copy_rows(const PartFile& part, std::size_t index, const FieldSpec& field, hid_t dataset,
               BlockCrc32& checksum) {
    const std::int64_t block = points_per_block(field);
    for (WorkRange piece{part.range().begin, part.range().begin}; piece.end < part.range().end;) {
        piece = {piece.end, checksum.piece_end(piece.end, std::min(piece.end + block, part.range().end))};
        const FieldBuffer rows = part.read_rows(index, piece);
        write_rows(dataset, field, piece, rows);
        checksum.add(piece.begin, piece.end, stored_rows(field, rows, piece.size()));
        count_step(Phase::Commit);
    }
}

void copy_part(const PartInfo& info, const ResultLayout& layout, const std::vector<Hdf5Dataset>& datasets,
               std::vector<BlockCrc32>& checksums) {
    const PartFile part(info.path, layout);
    for (std::size_t i = 0; i < datasets.size(); ++i) {
        const FieldSpec& field = layout.fields[i];
        (field.variable() ? copy_rows : copy_field)(part, i, field, datasets[i].get(), checksums[i]);
    }
}

}  // namespace

struct Consolidation::Impl {
    Life life;
    std::filesystem::path temporary;
    ResultLayout layout;
    RangeSet covered;
    Hdf5File file;
    std::vector<Hdf5Dataset> datasets;
    std::vector<BlockCrc32> checksums;  // of the datasets' values
    bool published = false;
};

Consolidation::Consolidation(Life life, const ResultLayout& layout) : impl_(std::make_unique<Impl>()) {
    impl_->temporary = temporary_in(life, life.result.filename());
    impl_->life = std::move(life);
    impl_->layout = layout;
    Hdf5Guard guard;
    try {
        impl_->file = create_hdf5(impl_->temporary.string());
        write_layout(impl_->file.get(), layout);
        write_coordinates(impl_->file.get(), layout);
        const std::int64_t points = layout.point_count();
        for (const FieldSpec& field : layout.fields) {
            impl_->datasets.push_back(open_dataset(impl_->file.get(), field.name));
            constexpr std::int64_t usual_row_bytes = 4096;  // of lists and texts
            const auto bytes = static_cast<std::int64_t>(field.bytes_per_point());
            impl_->checksums.emplace_back(
                points, BlockCrc32::usual_block(points, field.variable() ? usual_row_bytes : bytes));
        }
    } catch (...) {
        impl_->datasets.clear();
        impl_->file = {};
        discard_file(impl_->temporary);
        check_not_taken_over(impl_->life);
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
    const InPhase copying(Phase::Commit);
    Hdf5Guard guard;
    copy_part(part, impl_->layout, impl_->datasets, impl_->checksums);
    impl_->covered.insert(part.range);
}

void Consolidation::add_refined(const std::vector<PartInfo>& parts) {
    constexpr std::int64_t points_at_once = 1 << 20;
    const InPhase copying(Phase::Commit);
    Hdf5Guard guard;
    for (const PartInfo& part : parts) impl_->covered.insert(part.range);
    if (!covers_all()) throw std::logic_error("the parts do not cover the whole sweep");
    RefinedParts grid(impl_->layout, parts);
    const RefinedOrder& order = grid.order();
    std::int64_t computed = 0;
    for_each_block(order, points_at_once, [&](std::int64_t plane, WorkRange rows) {
        grid.begin(plane, rows);
        computed += grid.computed();
        const std::int64_t first = (plane * order.height() + rows.begin) * order.width();
        for (std::size_t i = 0; i < impl_->datasets.size(); ++i) {
            write_values(grid.values(i), {first, first + rows.size() * order.width()},
                         impl_->layout.fields[i], impl_->datasets[i].get(), impl_->checksums[i]);
            count_step(Phase::Commit);
        }
    });
    write_computed_points(impl_->file.get(), computed);
}

bool Consolidation::covers_all() const {
    return impl_->covered.contains(impl_->layout.whole());
}

void Consolidation::publish(const Provenance& provenance, const PlanRecord* plan) {
    if (!covers_all()) throw std::logic_error("the parts do not cover the whole sweep");
    if (provenance.software != software_name) throw std::logic_error("the software is not voltpile");
    const InPhase writing(Phase::Commit);
    {
        Hdf5Guard guard;
        for (std::size_t i = 0; i < impl_->datasets.size(); ++i)
            write_checksums(impl_->datasets[i].get(), impl_->checksums[i]);
        impl_->datasets.clear();
        write_provenance(impl_->file.get(), provenance);
        if (plan) write_plan_group(impl_->file.get(), *plan);
        write_header_checksum(impl_->file.get());
        write_content_checksum(impl_->file.get());
        write_telemetry(impl_->file.get(), read_telemetry(impl_->life.parts));
        write_flag(impl_->file.get(), "complete", true);
        impl_->file.close(impl_->temporary.string());
    }
    publish_in(impl_->life, impl_->temporary, impl_->life.result);
    impl_->published = true;
}

void consolidate(const Life& life, const ResultLayout& layout, const std::vector<PartInfo>& parts,
                 const Provenance& provenance, const PlanRecord* plan) {
    Consolidation consolidation(life, layout);
    if (layout.refinement)
        consolidation.add_refined(parts);
    else
        for (const PartInfo& part : parts) consolidation.add(part);
    consolidation.publish(provenance, plan);
}

}  // namespace voltpile
