#include "results/netcdf_file.h"

#include <fmt/format.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/build_info.h"
#include "results/hdf5/attribute.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/layout_file.h"
#include "results/hdf5/rows_io.h"
#include "results/parts/durable_file.h"
#include "results/rows.h"

namespace voltpile {
namespace {

constexpr const char* point_name = "point";
// netCDF's own defaults (NC_FILL_INT, NC_FILL_INT64).
constexpr int fill_int32 = -2147483647;
constexpr std::int64_t fill_int64 = -9223372036854775806;

bool is_integer(const FieldSpec& field) {
    return field.type == FieldType::Int32 || field.type == FieldType::Int64;
}

class NetcdfWriter {
  public:
    NetcdfWriter(const std::filesystem::path& path, const ResultReader& result, const NetcdfPoints& points)
        : result_(result),
          layout_(result.layout()),
          points_(points),
          gaps_(!result.completed().contains(points.range)),
          file_(create_hdf5(path.string())) {}

    void write() {
        write_root();
        if (points_.grid)
            write_axes();
        else
            write_points_dimension();
        for (const FieldSpec& field : layout_.fields) {
            for (const FieldDimension& dimension : field.dimensions)
                if (H5Lexists(file_.get(), dimension.name.c_str(), H5P_DEFAULT) <= 0) write_labels(dimension);
        }
        for (const FieldSpec& field : layout_.fields) write_field(field);
    }

    void close(const std::filesystem::path& path) { file_.close(path.string()); }

  private:
    Hdf5Dataset create(const std::string& name, hid_t type, const std::vector<hsize_t>& dims) {
        const Hdf5Properties creation(hdf5_check_at(H5Pcreate(H5P_DATASET_CREATE), "write", file_.get()));
        constexpr unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
        hdf5_check_at(H5Pset_attr_creation_order(creation.get(), order), "write", file_.get());
        const Hdf5Space space(hdf5_check_at(
            dims.empty() ? H5Screate(H5S_SCALAR)
                         : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
            "write", file_.get()));
        return Hdf5Dataset(hdf5_check_at(H5Dcreate2(file_.get(), name.c_str(), type, space.get(), H5P_DEFAULT,
                                                    creation.get(), H5P_DEFAULT),
                                         "create " + name + " in", file_.get()));
    }

    void attach(const Hdf5Dataset& dataset, const std::vector<std::string>& scales) {
        for (unsigned d = 0; d < scales.size(); ++d) {
            const Hdf5Dataset scale = open_dataset(file_.get(), scales[d]);
            hdf5_check_at(H5DSattach_scale(dataset.get(), scale.get(), d), "write", file_.get());
        }
    }

    void write_root() {
        const BuildInfo build = build_info();
        write_text(file_.get(), "Conventions", "CF-1.11");
        write_text(file_.get(), "title", fmt::format("{}: {}", layout_.app, layout_.job_path));
        write_text(file_.get(), "source",
                   fmt::format("voltpile {} (git {})", build.version, build.git_revision));
        write_text(file_.get(), "references", result_.path().string());
        write_provenance(file_.get(), result_.provenance());
        write_text(file_.get(), "jobFile", layout_.job_text);
        write_texts(file_.get(), "jobOverrides", layout_.job_overrides);
        write_flag(file_.get(), "complete", result_.complete());
    }

    void write_axes() {
        for (const SweepAxis& axis : layout_.axes) {
            std::vector<double> values(static_cast<std::size_t>(axis.count));
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = axis.frames.empty() ? axis_value(axis, static_cast<std::int64_t>(i), 0)
                                                : axis.part(static_cast<std::int64_t>(i));
            dims_.insert(dims_.begin(), values.size());
            scales_.insert(scales_.begin(), axis.name);
            const Hdf5Dataset scale = write_coordinate(axis, values);
            hdf5_check_at(H5DSset_scale(scale.get(), axis.name.c_str()), "write", file_.get());
        }
        for (const FrameTrack& track : layout_.frame_tracks()) {
            const Hdf5Dataset dataset = create(track.name, H5T_NATIVE_DOUBLE, {track.values.size()});
            write_all(dataset, H5T_NATIVE_DOUBLE, track.values.data());
            write_text(dataset.get(), "long_name", track.long_name);
            if (!track.unit.empty()) write_text(dataset.get(), "units", track.unit);
            attach(dataset, {frame_axis_name});
            coordinates_ += (coordinates_.empty() ? "" : " ") + track.name;
        }
    }

    void write_points_dimension() {
        const auto count = static_cast<std::size_t>(points_.range.size());
        std::vector<std::int64_t> numbers(count);
        std::iota(numbers.begin(), numbers.end(), points_.range.begin);
        const Hdf5Dataset scale = create(point_name, H5T_NATIVE_INT64, {count});
        write_all(scale, H5T_NATIVE_INT64, numbers.data());
        write_text(scale.get(), "long_name", "number of the point in the flattened sweep, from 0");
        hdf5_check_at(H5DSset_scale(scale.get(), point_name), "write", file_.get());
        dims_ = {count};
        scales_ = {point_name};
        std::int64_t stride = 1;
        for (const SweepAxis& axis : layout_.axes) {
            std::vector<double> values(count);
            for (std::size_t i = 0; i < count; ++i)
                values[i] =
                    axis_value(axis, numbers[i] / stride % axis.count, frame_of(layout_.axes, numbers[i]));
            attach(write_coordinate(axis, values), scales_);
            coordinates_ += (coordinates_.empty() ? "" : " ") + axis.name;
            stride *= axis.count;
        }
    }

    // The axis of an app that counts its points has no key.
    static double axis_value(const SweepAxis& axis, std::int64_t i, std::int64_t frame) {
        return axis.key.empty() ? static_cast<double>(i) : axis.value(i, frame);
    }

    Hdf5Dataset write_coordinate(const SweepAxis& axis, const std::vector<double>& values) {
        const hid_t type = axis.key.empty() ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE;
        Hdf5Dataset dataset = create(axis.name, type, {values.size()});
        write_all(dataset, H5T_NATIVE_DOUBLE, values.data());
        write_text(dataset.get(), "long_name", axis.parameter);
        if (!axis.frames.empty() && points_.grid)
            write_text(dataset.get(), "comment",
                       fmt::format("place in the range of each frame: {0}_from + ({0}_to - {0}_from) * {0}",
                                   axis.name));
        if (!axis.unit.empty()) write_text(dataset.get(), "units", axis.unit);
        return dataset;
    }

    void write_all(const Hdf5Dataset& dataset, hid_t type, const void* values) {
        hdf5_check_at(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "write",
                      file_.get());
    }

    void write_labels(const FieldDimension& dimension) {
        const Hdf5Type type = text_type();
        const Hdf5Dataset scale = create(dimension.name, type.get(), {dimension.labels.size()});
        std::vector<const char*> labels;
        for (const std::string& label : dimension.labels) labels.push_back(label.c_str());
        write_all(scale, type.get(), labels.data());
        hdf5_check_at(H5DSset_scale(scale.get(), dimension.name.c_str()), "write", file_.get());
    }

    void describe(const Hdf5Dataset& dataset, const FieldSpec& field) {
        write_text(dataset.get(), "long_name", field.long_name);
        if (!field.unit.empty()) write_text(dataset.get(), "units", field.unit);
        if (!coordinates_.empty()) write_text(dataset.get(), "coordinates", coordinates_);
        if (field.labels.empty()) return;
        std::vector<int> values(field.labels.size());
        std::iota(values.begin(), values.end(), 0);
        write_integers(dataset.get(), "flag_values", values);
        std::string meanings;
        for (const std::string& label : field.labels) meanings += (meanings.empty() ? "" : " ") + label;
        write_text(dataset.get(), "flag_meanings", meanings);
    }

    void write_field(const FieldSpec& field) {
        if (field.shape == FieldShape::List) return write_lists(field);
        std::vector<hsize_t> dims = dims_;
        std::vector<std::string> scales = scales_;
        for (const FieldDimension& dimension : field.dimensions) {
            dims.push_back(dimension.labels.size());
            scales.push_back(dimension.name);
        }
        const Hdf5Dataset dataset = field.variable() ? create(field.name, rows_type(field).get(), dims)
                                                     : create(field.name, memory_type(field.type), dims);
        describe(dataset, field);
        if (gaps_ && field.type == FieldType::Int32 && !field.variable())
            write_integers(dataset.get(), "_FillValue", {fill_int32});
        if (gaps_ && field.type == FieldType::Int64 && !field.variable())
            write_integer(dataset.get(), "_FillValue", fill_int64);
        attach(dataset, scales);
        for_each_block(field, [&](WorkRange source, WorkRange target) {
            if (field.variable())
                return write_rows(dataset.get(), field, target, result_.read_rows(field, source));
            std::vector<double> values = result_.read(field, source);
            if (gaps_ && is_integer(field)) put_fill_values(field, values);
            write_points(dataset.get(), field, target, H5T_NATIVE_DOUBLE, values.data());
        });
    }

    static void put_fill_values(const FieldSpec& field, std::vector<double>& values) {
        const double fill =
            field.type == FieldType::Int32 ? double{fill_int32} : static_cast<double>(fill_int64);
        for (double& value : values)
            if (std::isnan(value)) value = fill;
    }

    // Calls use(source, target): points of the sweep, and their places in the file.
    template <class Use>
    void for_each_block(const FieldSpec& field, Use use) {
        const std::int64_t block = points_per_block(field), begin = points_.range.begin;
        for (std::int64_t at = begin; at < points_.range.end; at += block) {
            const std::int64_t end = std::min(at + block, points_.range.end);
            use(WorkRange{at, end}, WorkRange{at - begin, end - begin});
        }
    }

    void write_lists(const FieldSpec& field) {
        const std::string dimension = field.name + "_value";
        FieldSpec counts;  // as a field of one integer a point
        counts.type = FieldType::Int64;
        const Hdf5Dataset count = create(field.name + "_count", H5T_NATIVE_INT64, dims_);
        write_text(count.get(), "long_name", "number of values of " + field.name);
        write_text(count.get(), "sample_dimension", dimension);
        attach(count, scales_);
        std::int64_t total = 0;
        for_each_block(field, [&](WorkRange source, WorkRange target) {
            const FieldBuffer buffer = result_.read_rows(field, source);
            const RowsView rows(buffer, source.size(), field.value_bytes());
            std::vector<std::int64_t> lengths;
            for (std::int64_t i = 0; i < rows.size(); ++i) lengths.push_back(rows.length(i));
            total = std::accumulate(lengths.begin(), lengths.end(), total);
            write_points(count.get(), counts, target, H5T_NATIVE_INT64, lengths.data());
        });
        write_bare_dimension(dimension, total);
        FieldSpec values = field;
        values.shape = FieldShape::Fixed;
        const Hdf5Dataset dataset =
            create(field.name, memory_type(field.type), {static_cast<hsize_t>(total)});
        write_text(dataset.get(), "long_name", field.long_name);
        if (!field.unit.empty()) write_text(dataset.get(), "units", field.unit);
        attach(dataset, {dimension});
        std::int64_t at = 0;
        for_each_block(field, [&](WorkRange source, WorkRange) {
            const FieldBuffer buffer = result_.read_rows(field, source);
            const RowsView rows(buffer, source.size(), field.value_bytes());
            const std::int64_t size = rows.offsets().back();
            if (size > 0)
                write_points(dataset.get(), values, {at, at + size}, memory_type(field.type),
                             rows.values().data());
            at += size;
        });
    }

    // A dimension without coordinates: netCDF recognizes it by this name.
    void write_bare_dimension(const std::string& name, std::int64_t size) {
        const Hdf5Dataset scale = create(name, H5T_IEEE_F32BE, {static_cast<hsize_t>(size)});
        const std::string text =
            fmt::format("This is a netCDF dimension but not a netCDF variable.{:10d}", size);
        hdf5_check_at(H5DSset_scale(scale.get(), text.c_str()), "write", file_.get());
    }

    const ResultReader& result_;
    const ResultLayout& layout_;
    NetcdfPoints points_;
    bool gaps_;  // some of the points are not computed
    Hdf5File file_;
    // The dimensions that all fields have, slowest first, and the coordinates that are not dimensions.
    std::vector<hsize_t> dims_;
    std::vector<std::string> scales_;
    std::string coordinates_;
};

}  // namespace

void write_netcdf(const std::filesystem::path& path, const ResultReader& result, const NetcdfPoints& points) {
    const std::filesystem::path temporary = temporary_name(path);
    const Hdf5Guard guard;
    try {
        NetcdfWriter writer(temporary, result, points);
        writer.write();
        writer.close(path);
    } catch (...) {
        discard_file(temporary);
        throw;
    }
    publish_file(temporary, path);
}

}  // namespace voltpile
