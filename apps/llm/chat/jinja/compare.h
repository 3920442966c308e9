// Python's comparisons of values.
#pragma once

#include "llm/chat/jinja/value.h"

namespace voltpile::llm::jinja {

class Interpreter;

bool equal(Interpreter& interpreter, const Value& a, const Value& b);

// a < b. Throws Problem for types that have no order. sign: of the comparison, for the message.
bool less(Interpreter& interpreter, const Value& a, const Value& b, const char* sign = "<");

// Python's `item in container`. Throws Problem if that cannot be a container of it.
bool contains(Interpreter& interpreter, const Value& container, const Value& item);

// Returns the value of a key, or nullptr. Throws Problem for a key that cannot be one.
const Value* find(Interpreter& interpreter, const Entries& entries, const Value& key);

// Adds an entry, or replaces the value of its key. Throws Problem for a key that cannot be one.
void set_entry(Interpreter& interpreter, Entries& entries, Value key, Value value);

// Whether a value can be the key of a map: not a list and not a map.
bool is_hashable(const Value& value);

}  // namespace voltpile::llm::jinja
