#include "job/override.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "job/nearest.h"
#include "job/value_reader.h"

namespace voltpile {
namespace {

class Setter {
  public:
    Setter(const Override& change, const KeyTable& table, Problems& problems)
        : change_(change), table_(table), problems_(problems) {}

    // Descends from `node`. from: index of the next step; path: dotted names of the steps already taken.
    void set(Node& node, std::size_t from, const std::string& path) {
        const auto& step = change_.path[from];
        if (node.kind == NodeKind::List) return set_in_list(node, from, path);
        if (step.index >= 0) return complain(fmt::format("{} is not a list", path));
        if (node.kind != NodeKind::Table) return complain(fmt::format("{} is not a table", path));

        const auto child_path = path.empty() ? step.name : path + "." + step.name;
        if (from + 1 == change_.path.size()) return node.set(step.name, change_.value);
        if (!node.find(step.name)) node.set(step.name, absent(child_path));
        set(*node.find(step.name), from + 1, child_path);
    }

  private:
    void complain(const std::string& message) { problems_.add(change_.origin, message); }

    // Returns what stands for an entry that is not in the document: the key's default, else a table.
    Node absent(const std::string& path) const {
        const KeySpec* const spec = table_.find(path);
        if (spec && spec->default_value) return make_node(*spec->default_value, spec->shape, change_.origin);
        Node table;
        table.origin = change_.origin;
        return table;
    }

    void set_in_list(Node& list, std::size_t from, const std::string& path) {
        const auto& step = change_.path[from];
        if (path == "sweep" && step.index < 0) return set_axis(list, from);
        int index = step.index;
        const KeySpec* const spec = table_.find(path);
        if (index < 0 && spec && spec->spatial && step.name.size() == 1) index = step.name[0] - 'x';
        if (index < 0) return complain(fmt::format("{} is a list: it has no .{}", path, step.name));
        if (static_cast<std::size_t>(index) >= list.items.size())
            return complain(
                fmt::format("{} has {} elements: there is no [{}]", path, list.items.size(), index));
        Node& item = list.items[static_cast<std::size_t>(index)];
        if (from + 1 == change_.path.size())
            item = change_.value;
        else
            set(item, from + 1, path);
    }

    void set_axis(Node& sweep, std::size_t from) {
        const auto& wanted = change_.path[from].name;
        std::vector<std::string> names;
        for (auto& axis : sweep.items) {
            names.push_back(axis_name(axis, table_));
            if (names.back() != wanted) continue;
            if (from + 1 == change_.path.size())
                return complain(fmt::format("say which key of the axis, as in sweep.{}.count=100", wanted));
            return set(axis, from + 1, "sweep");
        }
        complain(fmt::format("there is no axis \"{}\"; the axes are: {}{}", wanted, fmt::join(names, ", "),
                             did_you_mean(nearest_word(wanted, names))));
    }

    const Override& change_;
    const KeyTable& table_;
    Problems& problems_;
};

}  // namespace

std::vector<Override> parse_overrides(std::span<const std::string> texts, Problems& problems) {
    std::vector<Override> overrides;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto& text = texts[i];
        const Origin origin{0, static_cast<int>(i)};
        const auto equals = text.find('=');
        if (equals == std::string::npos) {
            problems.add(origin, "must be key=value, as in integrate.steps=5000");
            continue;
        }
        auto path = parse_path(std::string_view(text).substr(0, equals));
        if (!path) {
            problems.add(origin, "not a key; write for example integrate.steps=5000 or sweep.x.count=100");
            continue;
        }
        try {
            auto value = parse_value(text.substr(equals + 1));
            const auto mark = [origin](auto&& self, Node& node) -> void {
                node.origin = origin;
                for (auto& item : node.items) self(self, item);
            };
            mark(mark, value);
            overrides.push_back({std::move(*path), std::move(value), origin});
        } catch (const JobError& error) {
            problems.add(origin, error.what());
        }
    }
    return overrides;
}

void apply_override(Node& document, const Override& change, const KeyTable& table, Problems& problems) {
    const bool names_axis = change.path[0].name == "sweep" && change.path.size() > 1;
    if (names_axis && !document.find("sweep"))
        return problems.add(change.origin, "the job has no [[sweep]] to override");
    Setter(change, table, problems).set(document, 0, "");
}

std::string axis_name(const Node& axis, const KeyTable& table) {
    const Node* const name = axis.find("name");
    if (name && name->kind == NodeKind::Text && !name->text.empty()) return name->text;
    const Node* const parameter = axis.find("parameter");
    if (!parameter || parameter->kind != NodeKind::Text) return "";
    // The length of an open list does not affect the name: assume a long one.
    const auto long_enough = [](const KeySpec&) { return std::size_t{1} << 30; };
    const auto resolved = resolve_parameter(parameter->text, table, long_enough);
    const auto* found = std::get_if<Parameter>(&resolved);
    return found ? found->label : "";
}

}  // namespace voltpile
