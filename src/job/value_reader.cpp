#include "job/value_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "job/key_table.h"
#include "job/key_words.h"
#include "job/nearest.h"

namespace voltpile {
namespace {

constexpr int most_complaints = 20;  // for one value: a long list can be wrong in every element

class ValueReader {
  public:
    ValueReader(const KeySpec& spec, Problems& problems) : spec_(spec), problems_(problems) {
        switch (spec.type) {
            case ValueType::Real:
                value_.emplace<Reals>();
                break;
            case ValueType::Integer:
                value_.emplace<Integers>();
                break;
            case ValueType::Boolean:
                value_.emplace<Booleans>();
                break;
            case ValueType::Text:
                value_.emplace<Texts>();
                break;
        }
    }

    std::optional<Value> read(const Node& node) {
        read_list(node, spec_.path, 0);
        if (complaints_ == 0 && !spec_.shape.empty() && !spec_.choices.empty()) check_set(node);
        if (complaints_ > 0) return std::nullopt;
        return value_;
    }

  private:
    void complain(const Node& node, const std::string& message) {
        if (complaints_++ < most_complaints) problems_.add(node.origin, message);
    }

    void read_list(const Node& node, const std::string& name, std::size_t depth) {
        if (depth == spec_.shape.size()) return read_scalar(node, name);
        if (node.kind != NodeKind::List) {
            const bool only_brackets_missing =
                depth == 0 && spec_.shape.size() == 1 && spec_.shape[0] == any_length && is_scalar(node);
            const auto hint = only_brackets_missing ? fmt::format("; write [{}]", shown(node)) : "";
            return complain(node, fmt::format("{} = {}: expected {}, found {}{}", name, shown(node),
                                              expected(depth), kind_name(node), hint));
        }
        const int length = spec_.shape[depth];
        if (length != any_length && node.items.size() != static_cast<std::size_t>(length))
            return complain(node,
                            fmt::format("{}: expected {}, found {}", name, expected(depth), kind_name(node)));
        for (std::size_t i = 0; i < node.items.size(); ++i) {
            const bool letter = spec_.spatial && depth + 1 == spec_.shape.size() && i < 3;
            read_list(node.items[i],
                      letter ? fmt::format("{}.{}", name, "xyz"[i]) : fmt::format("{}[{}]", name, i),
                      depth + 1);
        }
    }

    // Describes what is expected at this depth of a nested list.
    std::string expected(std::size_t depth) const {
        KeySpec inner = spec_;
        inner.shape.erase(inner.shape.begin(), inner.shape.begin() + static_cast<std::ptrdiff_t>(depth));
        return describe_type(inner);
    }

    static bool is_scalar(const Node& node) {
        return node.kind != NodeKind::List && node.kind != NodeKind::Table;
    }

    void read_scalar(const Node& node, const std::string& name) {
        if (auto* reals = std::get_if<Reals>(&value_)) {
            if (node.kind == NodeKind::Integer)
                return read_number(node, name, static_cast<double>(node.integer), *reals);
            if (node.kind == NodeKind::Real) return read_number(node, name, node.real, *reals);
        } else if (auto* integers = std::get_if<Integers>(&value_)) {
            if (node.kind == NodeKind::Integer) return read_number(node, name, node.integer, *integers);
        } else if (auto* booleans = std::get_if<Booleans>(&value_)) {
            if (node.kind == NodeKind::Boolean) return booleans->push_back(node.boolean);
        } else if (node.kind == NodeKind::Text) {
            return read_text(node, name);
        }
        wrong_type(node, name);
    }

    template <typename Number>
    void read_number(const Node& node, const std::string& name, Number number, std::vector<Number>& list) {
        if (in_range(spec_.range, static_cast<double>(number))) return list.push_back(number);
        const auto unit = spec_.unit.empty() || spec_.unit == "1" ? "" : " " + spec_.unit;
        complain(node, fmt::format("{} = {}{}: {}", name, shown(node), unit,
                                   describe_range(spec_, static_cast<double>(number))));
    }

    void read_text(const Node& node, const std::string& name) {
        const auto& choices = spec_.choices;
        if (choices.empty() || std::find(choices.begin(), choices.end(), node.text) != choices.end()) {
            std::get<Texts>(value_).push_back(node.text);
            return;
        }
        auto suggestion = nearest_word(node.text, choices);
        if (suggestion) suggestion = '"' + *suggestion + '"';
        complain(node, fmt::format("{} = {}: must be one of {}{}", name, shown(node),
                                   fmt::join(choices, ", "), did_you_mean(suggestion)));
    }

    void wrong_type(const Node& node, const std::string& name) {
        std::string hint;
        const bool whole_number = node.kind == NodeKind::Real && std::trunc(node.real) == node.real;
        if (spec_.type == ValueType::Integer && whole_number && std::abs(node.real) < 1e15)
            hint = fmt::format("; write {:.0f}", node.real);
        if (spec_.type == ValueType::Boolean && node.kind == NodeKind::Text &&
            (node.text == "true" || node.text == "false"))
            hint = "; write it without quotes";
        KeySpec scalar = spec_;
        scalar.shape.clear();
        complain(node, fmt::format("{} = {}: expected {}, found {}{}", name, shown(node),
                                   describe_type(scalar), kind_name(node), hint));
    }

    // Checks that a list of choices is not empty and names no choice twice.
    void check_set(const Node& node) {
        const auto& texts = std::get<Texts>(value_);
        if (texts.empty())
            complain(node, fmt::format("{} is empty: name at least one of {}", spec_.path,
                                       fmt::join(spec_.choices, ", ")));
        for (std::size_t i = 0; i < texts.size(); ++i)
            if (std::find(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(i), texts[i]) !=
                texts.begin() + static_cast<std::ptrdiff_t>(i))
                complain(node.items[i], fmt::format("{} names \"{}\" twice", spec_.path, texts[i]));
    }

    const KeySpec& spec_;
    Problems& problems_;
    Value value_;
    int complaints_ = 0;
};

Node make_list(const Value& value, std::span<const int> shape, Origin origin, std::size_t& next) {
    Node node;
    node.origin = origin;
    if (!shape.empty()) {
        node.kind = NodeKind::List;
        for (int i = 0; i < shape.front(); ++i)
            node.items.push_back(make_list(value, shape.subspan(1), origin, next));
        return node;
    }
    const auto i = next++;
    if (const auto* reals = std::get_if<Reals>(&value)) {
        node.kind = NodeKind::Real;
        node.real = (*reals)[i];
    } else if (const auto* integers = std::get_if<Integers>(&value)) {
        node.kind = NodeKind::Integer;
        node.integer = (*integers)[i];
    } else if (const auto* booleans = std::get_if<Booleans>(&value)) {
        node.kind = NodeKind::Boolean;
        node.boolean = (*booleans)[i];
    } else {
        node.kind = NodeKind::Text;
        node.text = std::get<Texts>(value)[i];
    }
    return node;
}

}  // namespace

std::optional<Value> read_value(const KeySpec& spec, const Node& node, Problems& problems) {
    return ValueReader(spec, problems).read(node);
}

Node make_node(const Value& value, const std::vector<int>& shape, Origin origin) {
    const auto sizes = actual_shape(shape, std::visit([](const auto& list) { return list.size(); }, value));
    std::size_t next = 0;
    return make_list(value, sizes, origin, next);
}

}  // namespace voltpile
