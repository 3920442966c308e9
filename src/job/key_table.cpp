#include "job/key_table.h"

#include <algorithm>

#include "job/nearest.h"
#include "job/parameter.h"
#include "job/power_keys.h"
#include "job/watchdog_keys.h"

namespace voltpile {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<KeySpec> sweep_keys() {
    return {
        {.path = "sweep.parameter",
         .type = ValueType::Text,
         .help =
             "The number that the axis varies: one element of a sweepable key, such as \"position[0].x\", "
             "\"mass[1]\" or \"integrate.dt\". The table may be omitted if only one table has the key."},
        {.path = "sweep.name",
         .type = ValueType::Text,
         .default_value = Texts{""},
         .help = "Name of the axis: the dimension in the result, also used in --set sweep.NAME.count=100. "
                 "Letters, digits and underscores. Default: made from the parameter (position_0_x)."},
        {.path = "sweep.from", .help = "Value at the first point, in the unit of the parameter."},
        {.path = "sweep.to",
         .help = "Value at the end of the axis: at the last point with endpoint = true, else one spacing "
                 "after it."},
        {.path = "sweep.count",
         .type = ValueType::Integer,
         .unit = "1",
         .range = {.min = 1},
         .help = "Number of points. Point i is at from + (to - from) * i / n, with n = count, or count - 1 "
                 "with endpoint = true."},
        {.path = "sweep.endpoint",
         .type = ValueType::Boolean,
         .default_value = Booleans{false},
         .help = "Whether the last point lies at `to` or one spacing before it."},
    };
}

std::vector<KeySpec> frame_keys() {
    return {
        {.path = "frames.count",
         .type = ValueType::Integer,
         .unit = "1",
         .default_value = Integers{0},
         .range = {.min = 0, .max = 10'000'000},
         .identity_default = false,
         .help = "Frames of a movie, the slowest axis of the result, named frame; 0: none. Frame 0 is the "
                 "job without [frames]. See docs/movies.md."},
        {.path = "frames.endpoint",
         .type = ValueType::Boolean,
         .default_value = Booleans{false},
         .identity_default = false,
         .help = "Whether changes end at the last frame or one frame after it."},
        {.path = "frames.change.parameters",
         .type = ValueType::Text,
         .shape = {any_length},
         .help = "The numbers that change, named as in sweep.parameter. Of one that an axis sweeps, the "
                 "range changes."},
        {.path = "frames.change.to",
         .shape = {any_length},
         .default_value = Reals{},
         .help = "The value of each of them at the end, in its unit; of a range, its middle. While a range "
                 "shrinks, its middle moves in proportion to the width. []: unchanged."},
        {.path = "frames.change.width",
         .shape = {any_length},
         .default_value = Reals{},
         .range = {.min = 0, .min_open = true},
         .help = "The width of each range at the end. It changes by the same factor in each frame. []: "
                 "unchanged, or see halve_every."},
        {.path = "frames.change.halve_every",
         .default_value = Reals{0},
         .range = {.min = 0},
         .help = "Frames after which the value, or the width of the range, has halved; 0: does not. Frame k "
                 "has 2^(-k / halve_every) times as much as frame 0."},
        {.path = "frames.change.easing",
         .type = ValueType::Text,
         .default_value = Texts{"linear"},
         .choices = {"linear", "in", "out", "in_out"},
         .help = "How the way to the end is shared out among the frames: evenly (t), slow at first (t^2), "
                 "slow at last (1 - (1 - t)^2), or both (t^2 (3 - 2 t))."},
        {.path = "frames.change.logarithmic",
         .type = ValueType::Boolean,
         .default_value = Booleans{false},
         .help = "Whether values change by the same factor in each frame, not by the same difference."},
    };
}

std::vector<KeySpec> refine_keys() {
    return {
        {.path = "refine.field",
         .type = ValueType::Text,
         .default_value = Texts{""},
         .identity_default = false,
         .help =
             "The sweep begins on a coarse grid and divides cells in which values of this field differ, so "
             "that smooth areas cost little; other points get the values of their cell. A field with one "
             "number at each point; \"\": every point is computed. See docs/refine.md."},
        {.path = "refine.levels",
         .type = ValueType::Integer,
         .unit = "1",
         .default_value = Integers{3},
         .range = {.min = 1, .max = 10},
         .identity_default = false,
         .help = "How often a cell may be halved: the points of the coarsest grid are 2^levels apart."},
        {.path = "refine.threshold",
         .default_value = Reals{0},
         .range = {.min = 0},
         .identity_default = false,
         .help =
             "The largest difference between the corners of a cell that does not divide it, in the unit of "
             "the field; 0: any difference divides it, as fields of classes need it."},
        {.path = "refine.relative",
         .type = ValueType::Boolean,
         .default_value = Booleans{false},
         .identity_default = false,
         .help = "Whether the threshold is a share of the largest absolute value at the corners."},
        {.path = "refine.margin",
         .type = ValueType::Integer,
         .unit = "1",
         .default_value = Integers{1},
         .range = {.min = 0, .max = 64},
         .identity_default = false,
         .help = "Cells around a divided one that are divided as well, so that thin features are not lost."},
    };
}

std::vector<KeySpec> run_keys() {
    return {
        {.path = "run.device",
         .type = ValueType::Text,
         .default_value = Texts{"auto"},
         .choices = {"auto", "cpu", "gpu"},
         .identity = false,
         .help = "What the ranks compute on. auto: each rank drives a GPU if there is one for it, else it "
                 "uses CPU cores."},
        {.path = "run.threads",
         .type = ValueType::Integer,
         .unit = "1",
         .default_value = Integers{0},
         .range = {.min = 0, .max = 65536},
         .identity = false,
         .help = "Threads of a rank that computes on the CPU; 0: one for each core of its share."},
        {.path = "run.range_seconds",
         .unit = "s",
         .default_value = Reals{2.0},
         .range = {.min = 0, .min_open = true},
         .identity = false,
         .help = "How long a rank should take to compute one range of points. A killed job loses at most the "
                 "ranges in progress."},
        {.path = "run.range_points",
         .type = ValueType::Integer,
         .unit = "1",
         .default_value = Integers{0},
         .range = {.min = 0},
         .identity = false,
         .help = "Maximum number of points in a range; 0: as many as fit run.range_seconds."},
        {.path = "run.time_limit_s",
         .unit = "s",
         .default_value = Reals{infinity},
         .range = {.min = 0, .max = infinity, .min_open = true},
         .identity = false,
         .help = "Stop after this time, once the ranges in progress are done, with exit code 5. The same "
                 "command then resumes the job."},
    };
}

std::vector<KeySpec> cluster_keys() {
    return {
        {.path = "cluster.transport",
         .type = ValueType::Text,
         .default_value = Texts{"auto"},
         .choices = {"auto", "tcp", "ucx"},
         .identity = false,
         .help = "The transport of messages between hosts. auto: UCX if Open MPI supports the RDMA devices, "
                 "else TCP. Options given to mpirun (--mca pml ...) take precedence."},
        {.path = "cluster.network",
         .type = ValueType::Text,
         .default_value = Texts{""},
         .identity = false,
         .help = "Network interface or RDMA device to use, such as \"eth0\" or \"mlx5_0\", the same on every "
                 "host; empty: all that lead to other hosts."},
        {.path = "cluster.ranks_per_node",
         .type = ValueType::Integer,
         .unit = "1",
         .default_value = Integers{0},
         .range = {.min = 0, .max = 65536},
         .identity = false,
         .help = "Ranks in a node; 0: all ranks of a host. A smaller number splits hosts into several nodes, "
                 "so that teams are laid out as on a cluster: 2 makes two nodes of four GPUs."},
    };
}

std::vector<KeySpec> telemetry_keys() {
    return {
        {.path = "telemetry.record",
         .type = ValueType::Text,
         .default_value = Texts{"auto"},
         .choices = {"auto", "yes", "no"},
         .identity = false,
         .help = "Whether to sample the nodes while the job runs, for /telemetry in the result: processors, "
                 "memory and network; GPUs' power, temperatures, clocks, utilization, memory, throughput and "
                 "errors. auto: without a rank on a GPU only runs of a minute or more."},
        {.path = "telemetry.every_s",
         .unit = "s",
         .default_value = Reals{1.0},
         .range = {.min = 0.1, .max = 3600},
         .identity = false,
         .help = "Time between two samples."},
        {.path = "telemetry.port",
         .type = ValueType::Integer,
         .default_value = Integers{0},
         .range = {.min = 0, .max = 65535},
         .identity = false,
         .help = "Port of each node that answers GET /metrics in Prometheus' text format while the job runs; "
                 "0: none. Needs telemetry.record other than no."},
        {.path = "telemetry.host",
         .type = ValueType::Text,
         .default_value = Texts{"127.0.0.1"},
         .identity = false,
         .help = "Address for telemetry.port. 0.0.0.0 or :: listens on all interfaces, without a password."},
    };
}

}  // namespace

std::vector<KeySpec> common_keys() {
    std::vector<KeySpec> rows{
        {.path = "app", .type = ValueType::Text, .help = "The app that runs this job."}};
    for (auto& row : sweep_keys()) rows.push_back(std::move(row));
    for (auto& row : frame_keys()) rows.push_back(std::move(row));
    for (auto& row : refine_keys()) rows.push_back(std::move(row));
    for (auto& row : run_keys()) rows.push_back(std::move(row));
    for (auto& row : cluster_keys()) rows.push_back(std::move(row));
    for (auto& row : power_keys()) rows.push_back(std::move(row));
    for (auto& row : telemetry_keys()) rows.push_back(std::move(row));
    for (auto& row : watchdog_keys()) rows.push_back(std::move(row));
    return rows;
}

KeyTable::KeyTable(const AppSchema& app) : rows_(common_keys()) {
    if (!app.sweeps) std::erase_if(rows_, [](const KeySpec& row) { return table_of(row.path) == "sweep"; });
    if (!app.refines) std::erase_if(rows_, [](const KeySpec& row) { return table_of(row.path) == "refine"; });
    if (!app.frames) std::erase_if(rows_, [](const KeySpec& row) { return row.path.starts_with("frames."); });
    rows_.insert(rows_.end(), app.keys.begin(), app.keys.end());
}

void KeyTable::add_names(const Node& document) {
    std::vector<KeySpec> named;
    for (const KeySpec& row : rows_) {
        const Node* const table = has_any_name(row) && row.type == ValueType::Real
                                      ? document.find_path(table_of(row.path))
                                      : nullptr;
        if (!table || table->kind != NodeKind::Table) continue;
        for (const std::string& name : table->keys) {
            if (!parse_path(name)) continue;  // unknown keys
            KeySpec spec = row;
            spec.path = table_of(row.path) + "." + name;
            const auto same = [&](const KeySpec& other) { return other.path == spec.path; };
            if (!std::ranges::any_of(rows_, same)) named.push_back(std::move(spec));
        }
    }
    rows_.insert(rows_.end(), named.begin(), named.end());
}

const KeySpec* KeyTable::find(std::string_view path) const {
    for (const auto& row : rows_)
        if (row.path == path) return &row;
    for (const auto& row : rows_)
        if (has_any_name(row) && row.type == ValueType::Text && table_of(row.path) == table_of(path))
            return &row;
    return nullptr;
}

const KeySpec* KeyTable::key_with_names() const {
    for (const auto& row : rows_)
        if (row.sweepable && row.type == ValueType::Text) return &row;
    return nullptr;
}

bool KeyTable::has_table(std::string_view path) const {
    return std::any_of(rows_.begin(), rows_.end(), [path](const KeySpec& row) {
        return row.path.size() > path.size() && row.path.starts_with(path) && row.path[path.size()] == '.';
    });
}

std::optional<std::string> KeyTable::nearest_key(std::string_view path) const {
    const std::string table = table_of(path);
    std::vector<std::string> candidates;
    // A key of a list's item is in no other table, and no other key is in an item.
    for (const auto& row : rows_)
        if (table_of(row.path) == table || !(is_table_list(table) || is_item_key(row)))
            candidates.push_back(row.path);
    for (const auto& row : rows_)
        if (is_item_key(row) && table_of(table_of(row.path)) == table)
            candidates.push_back(table_of(row.path));
    return nearest_path(path, candidates);
}

std::optional<std::string> KeyTable::nearest_table(std::string_view path) const {
    std::vector<std::string> candidates;
    for (const auto& row : rows_) {
        const auto table = table_of(row.path);
        if (!table.empty() && (candidates.empty() || candidates.back() != table)) candidates.push_back(table);
    }
    return nearest_word(path, candidates);
}

bool has_any_name(const KeySpec& spec) {
    return spec.path.ends_with(".NAME");
}

bool is_item_key(const KeySpec& spec) {
    return is_table_list(table_of(spec.path));
}

bool is_table_list(const std::string& path) {
    return path == "sweep" || path == "frames.change";
}

std::string table_of(std::string_view path) {
    const auto dot = path.rfind('.');
    return std::string(dot == std::string_view::npos ? "" : path.substr(0, dot));
}

}  // namespace voltpile
