#include "job/job_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "job/fingerprint.h"
#include "job/frame_reader.h"
#include "job/key_words.h"
#include "job/nearest.h"
#include "job/power_keys.h"
#include "job/sweep_reader.h"
#include "job/value_reader.h"

namespace voltpile {
namespace {

// Returns a key as TOML spells it. A key with dots or spaces keeps its quotation marks, so that it does not
// read like a path.
std::string spelled(const std::string& key) {
    const bool bare = !key.empty() && key.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-") == std::string::npos;
    return bare ? key : '"' + shown(key) + '"';
}

}  // namespace

JobBuilder::JobBuilder(const std::string& text, const std::string& path,
                       std::span<const std::string> overrides, std::span<const AppSchema> apps)
    : apps_(apps), problems_(path, overrides), document_(parse_document(text, path)) {
    job_.text_ = text;
    job_.path_ = path;
    job_.overrides_.assign(overrides.begin(), overrides.end());
}

JobSpec JobBuilder::build() {
    const auto overrides = parse_overrides(job_.overrides_, problems_);
    const AppSchema& app = choose_app(overrides);
    KeyTable table(app);
    table.add_names(document_);
    for (const auto& change : overrides) apply_override(document_, change, table, problems_);
    table.add_names(document_);

    refuse_unknown(document_, "", table);
    const bool have_values = read_values(table);

    const auto length_of = [this](const KeySpec& spec) -> std::size_t {
        const auto found = job_.values_.find(spec.path);
        if (found == job_.values_.end()) return 0;
        return std::visit([](const auto& list) { return list.size(); }, found->second);
    };
    const auto problems_before = problems_.size();
    if (const Node* sweep = document_.find("sweep"); sweep && !app.sweeps)
        problems_.add(sweep->items.empty() ? sweep->origin : sweep->items.front().origin,
                      fmt::format("[[sweep]]: the app {} has no sweep", app.name));
    else
        job_.axes_ = read_sweep(document_, table, length_of, problems_);
    if (have_values && problems_.size() == problems_before) add_frames(table, length_of);
    if (have_values && problems_.size() == problems_before) add_refinement(table);
    const bool have_axes = problems_.size() == problems_before;

    if (have_values && have_axes) check(app);
    problems_.throw_if_any();
    job_.fingerprint_ = hash_128(canonical_text(job_, app, table));
    return std::move(job_);
}

// Adds the axis along the frames, and what changes along it.
void JobBuilder::add_frames(const KeyTable& table,
                            const std::function<std::size_t(const KeySpec&)>& length_of) {
    if (!table.find("frames.count")) return;
    job_.frame_changes_ = read_frame_changes(document_, table, length_of, job_, problems_);
    const std::int64_t count = job_.integer("frames.count");
    if (count == 0) return;
    SweepAxis axis;
    axis.name = axis.parameter = frame_axis_name;
    axis.key = frame_axis_key;
    axis.unit = "1";
    axis.to = static_cast<double>(count);
    axis.count = count;
    std::int64_t points = 0;
    if (__builtin_mul_overflow(job_.point_count(), count, &points))
        return problems_.add(origin_of(frame_axis_key),
                             fmt::format("frames.count = {}: the frames have more than {} points in all",
                                         count, std::numeric_limits<std::int64_t>::max()));
    for (const SweepAxis& other : job_.axes_)
        if (other.name == axis.name)
            problems_.add(origin_of("frames"),
                          "an axis cannot be named \"frame\": the frames have that name");
    job_.axes_.push_back(axis);
    set_frames(job_.axes_, job_.frame_changes_);
}

void JobBuilder::add_refinement(const KeyTable& table) {
    if (!table.find("refine.field") || !document_.find("refine")) return;
    if (!document_.find_path("refine.field"))
        return problems_.add(origin_of("refine"), "missing key refine.field (string, a field of the job)");
    Refinement refinement;
    refinement.field = job_.text("refine.field");
    if (refinement.field.empty()) return;
    refinement.levels = static_cast<int>(job_.integer("refine.levels"));
    refinement.threshold = job_.real("refine.threshold");
    refinement.relative = job_.boolean("refine.relative");
    refinement.margin = job_.integer("refine.margin");
    refinement.place = problems_.place(origin_of("refine.field"));
    if (job_.axes_.empty() || job_.axes_.front().is_frames())
        problems_.add(origin_of("refine"), "[refine] needs a [[sweep]]: there is no grid to refine");
    job_.refinement_ = std::move(refinement);
}

// Returns the schema of the job's app. Throws at once if there is none: nothing else can be checked then.
const AppSchema& JobBuilder::choose_app(const std::vector<Override>& overrides) {
    for (const auto& change : overrides)
        if (change.path.size() == 1 && change.path[0].name == "app") document_.set("app", change.value);

    std::vector<std::string> names;
    for (const auto& app : apps_) names.push_back(app.name);
    const auto choices = fmt::format("{}", fmt::join(names, ", "));
    const Node* const node = document_.find("app");
    if (!node) {
        problems_.add({},
                      fmt::format("missing key app: begin the file with app = \"...\", one of {}", choices));
    } else if (node->kind != NodeKind::Text) {
        problems_.add(node->origin, fmt::format("app = {}: expected a string, one of {}, found {}",
                                                shown(*node), choices, kind_name(*node)));
    } else {
        job_.app_ = node->text;
        const auto found = std::find(names.begin(), names.end(), node->text);
        if (found != names.end()) return apps_[static_cast<std::size_t>(found - names.begin())];
        auto suggestion = nearest_word(node->text, names);
        if (suggestion) *suggestion = '"' + *suggestion + '"';
        problems_.add(node->origin, fmt::format("app = {}: must be one of {}{}", shown(*node), choices,
                                                did_you_mean(suggestion)));
    }
    problems_.throw_if_any();
    throw std::logic_error("the app was neither found nor reported");
}

void JobBuilder::refuse_unknown(const Node& table_node, const std::string& prefix, const KeyTable& table) {
    for (std::size_t i = 0; i < table_node.keys.size(); ++i) {
        const Node& node = table_node.items[i];
        const auto path = prefix + spelled(table_node.keys[i]);
        if (path == "sweep" || (is_table_list(path) && table.has_table(path))) {
            for (const auto& item : node.items)
                if (node.kind == NodeKind::List && item.kind == NodeKind::Table && table.has_table(path))
                    refuse_unknown(item, path + ".", table);
        } else if (table.find(path)) {
            continue;
        } else if (table.has_table(path)) {
            if (node.kind == NodeKind::Table) {
                refuse_unknown(node, path + ".", table);
                continue;
            }
            excused_.push_back(path);
            problems_.add(
                node.origin,
                fmt::format("{0} must be a table, found {1}: write [{0}] on a line of its own, and its "
                            "keys below",
                            path, kind_name(node)));
        } else if (node.kind == NodeKind::Table && prefix.empty()) {
            const auto suggestion = table.nearest_table(path);
            problems_.add(node.origin,
                          fmt::format("unknown table [{}]{}", path,
                                      suggestion ? fmt::format("; did you mean [{}]?", *suggestion) : ""));
            if (suggestion) excused_.push_back(*suggestion);
        } else {
            const auto suggestion = table.nearest_key(path);
            problems_.add(node.origin, fmt::format("unknown key {}{}", path, did_you_mean(suggestion)));
            if (suggestion) excused_.push_back(*suggestion);
        }
    }
}

// Reads all values. Returns whether every key has one.
bool JobBuilder::read_values(const KeyTable& table) {
    bool complete = true;
    for (const auto& spec : table.rows()) {
        if (spec.path == "app" || is_item_key(spec)) continue;
        std::optional<Value> value;
        if (has_any_name(spec)) {
            value = read_names(spec);
        } else if (const Node* const node = document_.find_path(spec.path)) {
            value = read_value(spec, *node, problems_);
        } else if (spec.default_value) {
            value = spec.default_value;
        } else {
            const auto excused = [this](const std::string& path) {
                return std::find(excused_.begin(), excused_.end(), path) != excused_.end();
            };
            if (!excused(spec.path) && !excused(table_of(spec.path)))
                problems_.add(origin_of(spec.path),
                              fmt::format("missing key {} ({}{})", spec.path, describe_type(spec),
                                          spec.choices.empty() ? "" : ", one of " + short_range(spec)));
        }
        if (value)
            job_.values_[spec.path] = std::move(*value);
        else
            complete = false;
    }
    return complete;
}

// Reads a table whose keys have any names. Returns nothing if a value is wrong.
std::optional<Value> JobBuilder::read_names(const KeySpec& spec) {
    Texts all;
    bool sound = true;
    const Node* const table = document_.find_path(table_of(spec.path));
    if (!table || table->kind != NodeKind::Table) return all;  // refuse_unknown() has reported what it is
    if (spec.type == ValueType::Real) return table->keys;
    std::vector<std::size_t> order(table->keys.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (spec.file_order)
        std::ranges::stable_sort(order, {}, [&](std::size_t i) {
            const Origin& at = table->items[i].origin;
            return std::tuple(at.override_index, at.line, at.column);
        });
    for (const std::size_t i : order) {
        KeySpec named = spec;
        named.path = table_of(spec.path) + "." + spelled(table->keys[i]);
        const auto value = read_value(named, table->items[i], problems_);
        sound = sound && value;
        if (!value) continue;
        all.push_back(table->keys[i]);
        all.push_back(std::get<Texts>(*value).front());
    }
    if (!sound) return std::nullopt;
    return all;
}

void JobBuilder::check(const AppSchema& app) {
    const ReportProblem report = [this](const std::string& key, const std::string& message) {
        problems_.add(origin_of(key), message);
    };
    check_power_keys(job_, report);
    if (app.check) app.check(job_, report);
}

// Returns where a key is written, or the innermost existing table around it.
Origin JobBuilder::origin_of(const std::string& path) const {
    const auto steps = parse_path(path);
    const Node* node = &document_;
    if (!steps) return {};
    Origin origin;
    for (const auto& step : *steps) {
        const bool indexed = step.index >= 0;
        const auto index = static_cast<std::size_t>(std::max(step.index, 0));
        if (indexed)
            node = index < node->items.size() ? &node->items[index] : nullptr;
        else
            node = node->find(step.name);
        if (!node) return origin;
        origin = node->origin;
    }
    return origin;
}

}  // namespace voltpile
