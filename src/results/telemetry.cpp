#include "results/telemetry.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/file_text.h"

namespace voltpile {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
// Counters are read seldom. They count if their readings span this share of the samples.
constexpr double kCountedShare = 0.9;
constexpr std::string_view kPower = "power_w", kEnergy = "energy_j";
constexpr std::string_view kPrefix = "telemetry-";
constexpr std::string_view kExtension = ".csv";

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> words;
    for (;;) {
        const auto at = text.find(separator);
        words.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return words;
        text.remove_prefix(at + 1);
    }
}

double number_of(std::string_view word) {
    double value = kUnknown;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
}

// "telemetry-<life>-<rank>-<number>.csv"; the file's order is (life, rank, number) by its zeros.
std::string file_name(const Life& life, int rank, int number) {
    return fmt::format("{}{}-{:06}-{:06}{}", kPrefix, life.name, rank, number, kExtension);
}

std::string life_of(const std::string& name) {
    constexpr std::size_t numbers = 14;  // "-000000-000000"
    const std::size_t length = name.size() - kPrefix.size() - kExtension.size();
    return length > numbers ? name.substr(kPrefix.size(), length - numbers) : "";
}

TelemetryColumn& column_like(NodeTelemetry& node, const TelemetryColumn& other) {
    for (TelemetryColumn& column : node.columns)
        if (column.name == other.name && column.device == other.device) return column;
    return node.columns.emplace_back(TelemetryColumn{other.name, other.unit, other.device, {}});
}

void append(NodeTelemetry& node, const NodeTelemetry& more) {
    const std::size_t before = node.times_s.size();
    node.times_s.insert(node.times_s.end(), more.times_s.begin(), more.times_s.end());
    for (const TelemetryColumn& column : more.columns) {
        TelemetryColumn& whole = column_like(node, column);
        whole.values.resize(before, kUnknown);
        whole.values.insert(whole.values.end(), column.values.begin(), column.values.end());
    }
    for (TelemetryColumn& column : node.columns) column.values.resize(node.times_s.size(), kUnknown);
}

const TelemetryColumn* find_column(const NodeTelemetry& node, std::string_view name,
                                   std::string_view device) {
    for (const TelemetryColumn& column : node.columns)
        if (column.name == name && column.device == device) return &column;
    return nullptr;
}

struct Drawn {
    double energy_j = 0, seconds = 0;
};

// The counter's increase between its first and its last value.
Drawn counted(const std::vector<double>& times, const std::vector<double>& energy) {
    const auto known = [](double value) { return !std::isnan(value); };
    const auto first = std::ranges::find_if(energy, known);
    const auto last = std::find_if(energy.rbegin(), energy.rend(), known);
    if (first == energy.end()) return {};
    const auto at = [&](auto i) { return times[static_cast<std::size_t>(i)]; };
    const auto end = std::distance(energy.begin(), last.base()) - 1;
    return {*last - *first, at(end) - at(std::distance(energy.begin(), first))};
}

// The integral of the power by the trapezoidal rule.
Drawn integrated(const std::vector<double>& times, const std::vector<double>& power) {
    Drawn drawn;
    for (std::size_t i = 1; i < times.size(); ++i) {
        if (std::isnan(power[i - 1]) || std::isnan(power[i])) continue;
        const double seconds = times[i] - times[i - 1];
        drawn.energy_j += seconds * (power[i - 1] + power[i]) / 2;
        drawn.seconds += seconds;
    }
    return drawn;
}

// The lines of the samples from `row` on.
std::string csv_rows(const NodeTelemetry& node, std::size_t row) {
    std::string text;
    for (; row < node.times_s.size(); ++row) {
        text += fmt::format("{:.3f}", node.times_s[row]);
        for (const TelemetryColumn& column : node.columns)
            text += std::isnan(column.values[row]) ? "," : fmt::format(",{:.10g}", column.values[row]);
        text += '\n';
    }
    return text;
}

}  // namespace

std::string telemetry_csv(const NodeTelemetry& node) {
    std::string text = fmt::format("# {}\ntime_s|s|", node.host);
    for (const TelemetryColumn& column : node.columns)
        text += fmt::format(",{}|{}|{}", column.name, column.unit, column.device);
    return text + '\n' + csv_rows(node, 0);
}

void TelemetryCsv::add(const NodeTelemetry& piece) {
    const std::size_t columns = node_.columns.size(), rows = this->rows();
    if (rows == 0) node_.host = piece.host;
    append(node_, piece);
    if (rows == 0 || node_.columns.size() > columns)
        text_ = telemetry_csv(node_);
    else
        text_ += csv_rows(node_, rows);
}

std::optional<NodeTelemetry> telemetry_from_csv(const std::string& text) {
    std::vector<std::string_view> lines = split(text, '\n');
    lines.pop_back();  // empty, or cut off
    if (lines.size() < 2 || !lines[0].starts_with("# ")) return std::nullopt;
    NodeTelemetry node;
    node.host = lines[0].substr(2);
    for (std::string_view word : split(lines[1], ',')) {
        const auto parts = split(word, '|');
        if (parts.size() != 3) return std::nullopt;
        node.columns.push_back({std::string(parts[0]), std::string(parts[1]), std::string(parts[2]), {}});
    }
    node.columns.erase(node.columns.begin());  // the time
    for (std::string_view line : std::span(lines).subspan(2)) {
        const auto words = split(line, ',');
        if (words.size() != node.columns.size() + 1) return std::nullopt;
        node.times_s.push_back(number_of(words[0]));
        for (std::size_t i = 0; i < node.columns.size(); ++i)
            node.columns[i].values.push_back(number_of(words[i + 1]));
    }
    return node;
}

void write_telemetry_file(const Life& life, int rank, int number, const std::string& csv) {
    write_in(life, life.parts / file_name(life, rank, number), std::as_bytes(std::span(csv)), Flush::Later);
}

bool is_telemetry(const std::filesystem::path& path) {
    const std::string name = path.filename();
    return name.starts_with(kPrefix) && name.ends_with(kExtension);
}

std::vector<NodeTelemetry> read_telemetry(const std::filesystem::path& parts) {
    std::vector<std::filesystem::path> files;
    std::error_code error;
    for (std::filesystem::directory_iterator it(parts, error), end; !error && it != end; it.increment(error))
        if (is_telemetry(it->path())) files.push_back(it->path());
    std::ranges::sort(files);
    TelemetryPieces pieces;
    for (const std::filesystem::path& file : files) {
        std::optional<NodeTelemetry> piece = telemetry_from_csv(file_text(file));
        if (!piece) continue;
        piece->life = life_of(file.filename());
        pieces.add(std::move(*piece));
    }
    return std::move(pieces).joined();
}

void TelemetryPieces::add(NodeTelemetry piece) {
    const auto same = std::ranges::find_if(nodes_, [&](const NodeTelemetry& node) {
        return node.life == piece.life && node.host == piece.host;
    });
    if (same == nodes_.end())
        nodes_.push_back(std::move(piece));
    else
        append(*same, piece);
}

std::vector<NodeTelemetry> TelemetryPieces::joined() && {
    std::ranges::stable_sort(nodes_, {}, [](const NodeTelemetry& node) {
        return std::pair(node.host, node.times_s.empty() ? 0.0 : node.times_s.front());
    });
    return std::move(nodes_);
}

std::string energy_text(const GpuPower& power, double seconds, double units, const std::string& unit) {
    const double joules = power.mean_w * seconds;
    std::string text = fmt::format("energy: {:.4g} Wh by {} GPU{}, {:.0f} W on average", joules / 3600,
                                   power.gpus, power.gpus == 1 ? "" : "s", power.mean_w);
    if (units > 0) text += fmt::format("; {:.3g} joules per {}", joules / units, unit);
    return text;
}

bool says_gpu_power(std::string_view column) {
    return column == kPower || column == kEnergy;
}

GpuPower gpu_power(const std::vector<NodeTelemetry>& nodes) {
    GpuPower sum;
    std::map<std::pair<std::string, std::string>, Drawn> gpus;  // by host and bus id
    for (const NodeTelemetry& node : nodes) {
        if (node.times_s.empty()) continue;
        for (const TelemetryColumn& column : node.columns) {
            if (column.name != kPower) continue;
            const TelemetryColumn* counter = find_column(node, kEnergy, column.device);
            Drawn drawn = counter ? counted(node.times_s, counter->values) : Drawn{};
            const double sampled_s = node.times_s.back() - node.times_s.front();
            if (drawn.seconds <= 0 || drawn.seconds < kCountedShare * sampled_s)
                drawn = integrated(node.times_s, column.values);
            Drawn& whole = gpus[{node.host, column.device}];
            whole.energy_j += drawn.energy_j;
            whole.seconds += drawn.seconds;
        }
    }
    for (const auto& [gpu, drawn] : gpus) {
        if (drawn.seconds <= 0) continue;
        ++sum.gpus;
        sum.energy_j += drawn.energy_j;
        sum.mean_w += drawn.energy_j / drawn.seconds;
    }
    return sum;
}

}  // namespace voltpile
