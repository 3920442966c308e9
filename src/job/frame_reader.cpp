#include "job/frame_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "job/key_words.h"
#include "job/parameter.h"
#include "job/value_reader.h"

namespace voltpile {
namespace {

constexpr const char* change_table = "frames.change";

Easing easing_named(const std::string& name) {
    return name == "in"       ? Easing::In
           : name == "out"    ? Easing::Out
           : name == "in_out" ? Easing::InOut
                              : Easing::Linear;
}

const SweepAxis* axis_over(const JobSpec& job, const std::string& parameter) {
    const auto found = std::ranges::find(job.axes(), parameter, &SweepAxis::parameter);
    return found == job.axes().end() ? nullptr : &*found;
}

// Reads one [[frames.change]].
class ChangeReader {
  public:
    ChangeReader(const Node& node, const KeyTable& table, const JobSpec& job, Problems& problems)
        : node_(node), table_(table), job_(job), problems_(problems) {
        const auto before = problems.size();
        for (const auto& row : table.rows()) {
            if (table_of(row.path) != change_table) continue;
            const auto key = row.path.substr(row.path.rfind('.') + 1);
            if (const Node* const given = node.find(key)) {
                if (auto value = read_value(row, *given, problems)) values_[key] = *value;
            } else if (row.default_value) {
                values_[key] = *row.default_value;
            } else {
                problems.add(node.origin,
                             fmt::format("missing key {} in this [[{}]]", row.path, change_table));
            }
        }
        sound_ = problems.size() == before && check_keys();
    }

    void read(const std::function<std::size_t(const KeySpec&)>& length_of,
              std::vector<FrameChange>& changes) {
        if (!sound_) return;
        const Texts& names = texts("parameters");
        for (std::size_t i = 0; i < names.size(); ++i) {
            const auto resolved = resolve_parameter(names[i], table_, length_of);
            if (const auto* why = std::get_if<std::string>(&resolved)) {
                complain("parameters", fmt::format("{}.parameters[{}] = \"{}\": {}", change_table, i,
                                                   shown(names[i]), *why));
                continue;
            }
            const auto& parameter = std::get<Parameter>(resolved);
            if (std::ranges::find(changes, parameter.path, &FrameChange::parameter) != changes.end()) {
                complain("parameters", fmt::format("{} already changes", parameter.path));
                continue;
            }
            const auto change = make_change(parameter, i);
            if (change && check_frames(*change, *parameter.spec)) changes.push_back(*change);
        }
    }

  private:
    const Reals& reals(const char* key) const { return std::get<Reals>(values_.at(key)); }
    const Texts& texts(const char* key) const { return std::get<Texts>(values_.at(key)); }

    void complain(const char* key, const std::string& message) {
        const Node* const found = node_.find(key);
        problems_.add(found ? found->origin : node_.origin, message);
        sound_ = false;
    }

    bool check_keys() {
        sound_ = true;
        const std::size_t numbers = texts("parameters").size();
        if (numbers == 0)
            complain("parameters", fmt::format("{}.parameters = []: names nothing", change_table));
        for (const char* const key : {"to", "width"}) {
            const std::size_t given = reals(key).size();
            if (given != 0 && given != numbers)
                complain(key, fmt::format("{}.{} has {} of {} numbers: give one for each of the parameters",
                                          change_table, key, given, numbers));
        }
        const bool halves = reals("halve_every")[0] > 0;
        const bool ends = !reals("to").empty() || !reals("width").empty();
        if (!halves && !ends)
            complain("parameters",
                     fmt::format("this [[{}]] changes nothing: give to, width or halve_every", change_table));
        if (halves && !reals("width").empty())
            complain("halve_every", fmt::format("{0}.halve_every and {0}.width both say how wide the range "
                                                "is: leave out one",
                                                change_table));
        if (halves && texts("easing")[0] != "linear")
            complain("easing", fmt::format("{}.halve_every has no end, so there is nothing to ease: give "
                                           "width or to",
                                           change_table));
        return sound_;
    }

    std::optional<FrameChange> make_change(const Parameter& parameter, std::size_t i) {
        FrameChange change;
        change.name = parameter.label;
        change.parameter = parameter.path;
        change.key = parameter.spec->path;
        change.element = parameter.element;
        change.unit = parameter.spec->unit;
        change.whole = parameter.spec->type == ValueType::Integer;
        change.halve_every = reals("halve_every")[0];
        change.logarithmic = std::get<Booleans>(values_.at("logarithmic"))[0];
        change.easing = easing_named(texts("easing")[0]);
        change.frames = std::max<std::int64_t>(1, job_.integer("frames.count"));
        change.endpoint = job_.boolean("frames.endpoint");
        if (!reals("to").empty()) change.to = reals("to")[i];
        if (!reals("width").empty()) change.width = reals("width")[i];
        if (const SweepAxis* const axis = axis_over(job_, parameter.path)) {
            change.swept = true;
            change.name = axis->name;
            change.first = {axis->from, axis->to};
        } else {
            const auto at = static_cast<std::size_t>(parameter.element);
            const double value = change.whole ? static_cast<double>(job_.integers(change.key)[at])
                                              : job_.reals(change.key)[at];
            change.first = {value, value};
        }
        return check_course(change) ? std::optional(change) : std::nullopt;
    }

    bool check_course(const FrameChange& change) {
        const auto refuse = [&](const char* key, const std::string& why) {
            complain(key, fmt::format("{}.{}: {}", change_table, key, why));
            return false;
        };
        const std::string& name = change.parameter;
        if (change.swept && change.whole)
            return refuse("parameters", name + " is swept and has whole numbers, so its range cannot change");
        if (change.swept && change.logarithmic)
            return refuse("logarithmic", fmt::format("the middle of the range of {} moves in proportion to "
                                                     "its width, or evenly",
                                                     name));
        if (change.swept && change.width && change.first.from == change.first.to)
            return refuse("width", fmt::format("the range of {} has the width 0", name));
        if (!change.swept && change.width)
            return refuse("width", fmt::format("{} is not swept, so it has no range", name));
        if (!change.swept && change.halve_every > 0 && change.to)
            return refuse("halve_every", fmt::format("{} has an end: leave out to, or halve_every", name));
        if (change.logarithmic && (!change.to || *change.to * change.first.from <= 0))
            return refuse("logarithmic",
                          fmt::format("{} must go from one number to another of the same sign", name));
        return true;
    }

    // Double precision has no number between the ends of the range, or none as small as the value.
    static bool shrinks_to_nothing(const FrameChange& change, const FrameRange& range) {
        if (change.swept) return range.from == range.to && change.first.from != change.first.to;
        return change.halve_every > 0 && !change.whole && range.from == 0 && change.first.from != 0;
    }

    // Returns whether each frame has values that the key allows.
    bool check_frames(const FrameChange& change, const KeySpec& spec) {
        for (std::int64_t k = 0; k < change.frames; ++k) {
            const FrameRange range = change.at(k);
            if (shrinks_to_nothing(change, range)) {
                complain("parameters",
                         fmt::format("{} in frame {}: {}", change.parameter, k,
                                     change.swept ? fmt::format("the range shrinks to nothing, at {}: give "
                                                                "fewer frames, or a wider end",
                                                                range.from)
                                                  : "halves until nothing is left: give fewer frames"));
                return false;
            }
            for (const double value : {range.from, range.to}) {
                if (in_range(spec.range, value)) continue;
                complain("parameters", fmt::format("{} = {} in frame {}: {}", change.parameter, value, k,
                                                   describe_range(spec, value)));
                return false;
            }
        }
        return true;
    }

    const Node& node_;
    const KeyTable& table_;
    const JobSpec& job_;
    Problems& problems_;
    std::map<std::string, Value> values_;
    bool sound_ = false;
};

}  // namespace

std::vector<FrameChange> read_frame_changes(const Node& document, const KeyTable& table,
                                            const std::function<std::size_t(const KeySpec&)>& length_of,
                                            const JobSpec& job, Problems& problems) {
    std::vector<FrameChange> changes;
    const Node* const list = document.find_path(change_table);
    if (!list) return changes;
    if (list->kind != NodeKind::List) {
        problems.add(list->origin, fmt::format("start each change with a line [[{}]]", change_table));
        return changes;
    }
    for (const auto& node : list->items) {
        if (node.kind != NodeKind::Table) {
            problems.add(node.origin, fmt::format("a change is a table: start it with [[{}]]", change_table));
            continue;
        }
        ChangeReader(node, table, job, problems).read(length_of, changes);
    }
    if (job.integer("frames.count") == 0 && !list->items.empty())
        problems.add(list->items.front().origin,
                     "changes need frames: give frames.count, the number of them");
    return changes;
}

}  // namespace voltpile
