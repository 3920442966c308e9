#include "results/hdf5/telemetry_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>

#include "results/hdf5/attribute.h"
#include "results/hdf5/checksum.h"
#include "results/hdf5/content_checksum.h"
#include "results/hdf5/field_io.h"
#include "results/hdf5/group_io.h"
#include "results/hdf5/result_check.h"

namespace voltpile {
namespace {

constexpr const char* kTelemetry = "telemetry";

Hdf5Dataset create_compressed(hid_t at, const std::string& name, hid_t type,
                              const std::vector<hsize_t>& dims) {
    const int rank = static_cast<int>(dims.size());
    const Hdf5Space space(hdf5_check_at(H5Screate_simple(rank, dims.data(), nullptr), "write", at));
    const Hdf5Properties creation(hdf5_check_at(H5Pcreate(H5P_DATASET_CREATE), "write", at));
    hdf5_check_at(H5Pset_obj_track_times(creation.get(), false), "write", at);
    if (H5Tget_class(type) != H5T_STRING) {
        std::vector<hsize_t> chunk = dims;
        chunk[0] = std::min<hsize_t>(chunk[0], 8192);
        hdf5_check_at(H5Pset_chunk(creation.get(), rank, chunk.data()), "write", at);
        hdf5_check_at(H5Pset_shuffle(creation.get()), "write", at);
        hdf5_check_at(H5Pset_deflate(creation.get(), 4), "write", at);
    }
    return Hdf5Dataset(hdf5_check_at(
        H5Dcreate2(at, name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), "write",
        at));
}

void write_values(const Hdf5Dataset& dataset, hid_t memory_type, const void* values) {
    hdf5_check_at(H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "write",
                  dataset.get());
}

template <class T>
void write_with_checksum(const Hdf5Dataset& dataset, hid_t memory_type, const std::vector<T>& values) {
    write_values(dataset, memory_type, values.data());
    write_checksum(dataset.get(), crc32_of(std::as_bytes(std::span(values))));
}

// The samples of a host in all lives of the job.
class HostTelemetry {
  public:
    void add(const NodeTelemetry& life) {
        for (const TelemetryColumn& column : life.columns) {
            if (!column.device.empty() && std::ranges::find(gpus_, column.device) == gpus_.end())
                gpus_.push_back(column.device);
            units_[column.name] = column.unit;
            on_gpus_[column.name] = !column.device.empty();
        }
        rows_ += life.times_s.size();
        lives_.push_back(&life);
    }

    void write(hid_t group) {
        const Hdf5Dataset time = create_compressed(group, "time", H5T_NATIVE_DOUBLE, {rows_});
        const std::vector<double> times = sort_rows();
        write_with_checksum(time, H5T_NATIVE_DOUBLE, times);
        hdf5_check_at(H5DSset_scale(time.get(), "time"), "write", group);
        write_text(time.get(), "units", "seconds since 1970-01-01 00:00:00");
        Hdf5Dataset gpu;
        if (!gpus_.empty()) gpu = write_gpus(group);
        for (const auto& [name, unit] : units_) {
            const bool of_gpus = on_gpus_.at(name);
            std::vector<hsize_t> dims{rows_};
            if (of_gpus) dims.push_back(gpus_.size());
            // Counters need more digits than a float has.
            const bool counts = unit == "byte" || unit == "J" || unit == "1";
            const hid_t type = counts ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
            const Hdf5Dataset dataset = create_compressed(group, name, type, dims);
            const std::vector<double> values = values_of(name, of_gpus);
            if (counts)
                write_with_checksum(dataset, type, values);
            else
                write_with_checksum(dataset, type, std::vector<float>(values.begin(), values.end()));
            write_text(dataset.get(), "units", unit);
            hdf5_check_at(H5DSattach_scale(dataset.get(), time.get(), 0), "write", group);
            if (of_gpus) hdf5_check_at(H5DSattach_scale(dataset.get(), gpu.get(), 1), "write", group);
        }
    }

  private:
    // Finds the place of each row. The clock may have been set back between two lives. Returns the times.
    std::vector<double> sort_rows() {
        std::vector<double> all;
        for (const NodeTelemetry* life : lives_)
            all.insert(all.end(), life->times_s.begin(), life->times_s.end());
        std::vector<std::size_t> order(rows_);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, {}, [&](std::size_t row) { return all[row]; });
        places_.resize(rows_);
        std::vector<double> times(rows_);
        for (std::size_t place = 0; place < rows_; ++place) {
            places_[order[place]] = place;
            times[place] = all[order[place]];
        }
        return times;
    }

    Hdf5Dataset write_gpus(hid_t group) const {
        const Hdf5Type type = text_type();
        Hdf5Dataset gpu = create_compressed(group, "gpu", type.get(), {gpus_.size()});
        std::vector<const char*> ids;
        for (const std::string& id : gpus_) ids.push_back(id.c_str());
        write_values(gpu, type.get(), ids.data());
        hdf5_check_at(H5DSset_scale(gpu.get(), "gpu"), "write", group);
        write_text(gpu.get(), "long_name", "PCI bus id of the GPU");
        return gpu;
    }

    std::vector<double> values_of(const std::string& name, bool of_gpus) const {
        const std::size_t width = of_gpus ? gpus_.size() : 1;
        std::vector<double> values(rows_ * width, std::numeric_limits<double>::quiet_NaN());
        std::size_t first = 0;
        for (const NodeTelemetry* life : lives_) {
            for (const TelemetryColumn& column : life->columns) {
                if (column.name != name) continue;
                const auto place =
                    of_gpus ? std::ranges::find(gpus_, column.device) - gpus_.begin() : std::ptrdiff_t{0};
                for (std::size_t row = 0; row < column.values.size(); ++row)
                    values[places_[first + row] * width + static_cast<std::size_t>(place)] =
                        column.values[row];
            }
            first += life->times_s.size();
        }
        return values;
    }

    std::vector<const NodeTelemetry*> lives_;
    std::vector<std::string> gpus_;
    std::map<std::string, std::string> units_;  // by column
    std::map<std::string, bool> on_gpus_;
    std::size_t rows_ = 0;
    std::vector<std::size_t> places_;  // of the rows of all lives, in the file
};

NodeTelemetry read_host(hid_t group, const std::string& host) {
    NodeTelemetry node;
    node.host = host;
    node.times_s = read_reals(group, "time");
    const std::vector<std::string> names = names_in_group(group);
    std::vector<std::string> gpus;
    if (std::ranges::find(names, "gpu") != names.end())
        gpus = read_text_dataset(open_dataset(group, "gpu").get());
    for (const std::string& name : names) {
        if (name == "time" || name == "gpu") continue;
        const Hdf5Dataset dataset = open_dataset(group, name);
        const std::string unit = read_text(dataset.get(), "units");
        const std::vector<double> values = read_reals(group, name);
        const bool of_gpus =
            dataset_dims(dataset.get()).size() == 2;  // over (time, GPU), not over time alone
        const std::vector<std::string> devices = of_gpus ? gpus : std::vector<std::string>{""};
        for (std::size_t d = 0; d < devices.size(); ++d) {
            TelemetryColumn& column = node.columns.emplace_back(TelemetryColumn{name, unit, devices[d], {}});
            for (std::size_t at = d; at < values.size(); at += devices.size())
                column.values.push_back(values[at]);
            column.values.resize(node.times_s.size(), std::numeric_limits<double>::quiet_NaN());
        }
    }
    return node;
}

// Each dataset is over (time) or (time, GPU), and time does not go back.
void check_host(hid_t file, const std::string& host, std::vector<Damage>& damage) {
    const std::string path = fmt::format("{}/{}", kTelemetry, host);
    const std::optional<Hdf5Group> group = open_group(file, path);
    const std::vector<std::string> names = names_in_group(group->get());
    const bool has_gpu = std::ranges::find(names, "gpu") != names.end();
    const std::vector<double> times = read_reals(group->get(), "time");
    std::vector<hsize_t> dims{times.size()};
    if (has_gpu) dims.push_back(dataset_dims(open_dataset(group->get(), "gpu").get()).at(0));
    const auto back = std::ranges::adjacent_find(times, [](double a, double b) { return !(a <= b); });
    if (back != times.end())
        damage.push_back({path + "/time",
                          {},
                          fmt::format("{}/time goes back after sample {}", path, back - times.begin())});
    std::vector<std::string> with_checksums;
    for (const std::string& name : names) {
        if (name == "gpu") continue;
        const Hdf5Dataset dataset = open_dataset(group->get(), name);
        const std::vector<hsize_t> found = dataset_dims(dataset.get());
        if (found.empty() || found.size() > dims.size() ||
            !std::ranges::equal(found, std::span(dims).first(found.size())))
            damage.push_back({path + "/" + name,
                              {},
                              fmt::format("{}/{} has the extents ({}), not those of time and gpu ({})", path,
                                          name, fmt::join(found, ", "), fmt::join(dims, ", "))});
        else if (has_attribute(dataset.get(), "crc32"))
            with_checksums.push_back(path + "/" + name);
    }
    std::ranges::move(damaged_datasets(file, with_checksums), std::back_inserter(damage));
}

}  // namespace

void write_telemetry(hid_t file, const std::vector<NodeTelemetry>& nodes) {
    std::map<std::string, HostTelemetry> hosts;
    for (const NodeTelemetry& node : nodes)
        if (!node.times_s.empty()) hosts[node.host].add(node);
    if (hosts.empty()) return;
    const Hdf5Group top = create_group(file, kTelemetry);
    if (const GpuPower power = gpu_power(nodes); power.gpus > 0) {
        write_real(top.get(), "gpu_energy_j", power.energy_j);
        write_integer(top.get(), "gpus", power.gpus);
    }
    for (auto& [host, telemetry] : hosts) telemetry.write(create_group(top.get(), host).get());
    write_content_checksum(top.get());
}

std::vector<NodeTelemetry> read_telemetry_group(hid_t file) {
    std::vector<NodeTelemetry> nodes;
    const std::optional<Hdf5Group> top = open_group(file, kTelemetry);
    if (!top) return nodes;
    for (const std::string& host : names_in_group(top->get()))
        if (const std::optional<Hdf5Group> group = open_group(top->get(), host))
            nodes.push_back(read_host(group->get(), host));
    return nodes;
}

std::vector<Damage> damaged_telemetry(hid_t file) {
    std::vector<Damage> damage;
    try {
        const std::optional<Hdf5Group> top = open_group(file, kTelemetry);
        if (!top) return damage;
        for (const std::string& host : names_in_group(top->get())) check_host(file, host, damage);
    } catch (const FileError& problem) {
        damage.push_back({kTelemetry, {}, problem.what()});
    }
    return damage;
}

}  // namespace voltpile
