// The filters that templates can apply: `value | name(arguments)`.
#pragma once

#include <span>
#include <string_view>

#include "llm/chat/jinja/object.h"

namespace voltpile::llm::jinja {

using FilterFunction = Value (*)(Interpreter& interpreter, const Value& input, const Arguments& arguments);

struct NamedFilter {
    std::string_view name;
    FilterFunction function;
};

// Returns nullptr if there is no such filter.
FilterFunction find_filter(std::string_view name);

// The table is in parts, by what the filters work on.
std::span<const NamedFilter> text_filters();
std::span<const NamedFilter> number_filters();
std::span<const NamedFilter> sequence_filters();
std::span<const NamedFilter> selection_filters();
std::span<const NamedFilter> order_filters();

}  // namespace voltpile::llm::jinja
