// Attributes, items and slices of values, as in Jinja's sandbox.
#pragma once

#include <optional>
#include <string_view>

#include "llm/chat/jinja/value.h"

namespace voltpile::llm::jinja {

class Interpreter;

// base.name: a method or attribute, else an item. Undefined if there is none; throws Problem only if `base`
// is itself undefined.
Value attribute_of(Interpreter& interpreter, const Value& base, std::string_view name);

// base[key]: an item, else a method or attribute. Undefined and errors as above.
Value item_of(Interpreter& interpreter, const Value& base, const Value& key);

// base[begin:end:step]; each None for the default.
Value slice_of(Interpreter& interpreter, const Value& base, const Value& begin, const Value& end,
               const Value& step);

// The methods of texts, lists and maps; nothing if there is no such method.
std::optional<Value> text_method(const Value& self, std::string_view name);
std::optional<Value> map_method(const Value& self, std::string_view name);
std::optional<Value> list_method(const Value& self, std::string_view name);

}  // namespace voltpile::llm::jinja
