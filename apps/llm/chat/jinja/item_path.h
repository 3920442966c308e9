// The argument `attribute` of filters: where in each element they look.
#pragma once

#include <vector>

#include "llm/chat/jinja/value.h"

namespace voltpile::llm::jinja {

class Interpreter;

class ItemPath {
  public:
    // path: a name, an index, names and indexes with dots between them ("function.name", "parts.0"), or
    // nullptr or None for the element itself. otherwise: what replaces undefined parts, or nullptr.
    ItemPath(Interpreter& interpreter, const Value* path, const Value* otherwise = nullptr);

    Value of(Value element) const;

  private:
    Interpreter& interpreter_;
    Values parts_;
    const Value* otherwise_;
};

}  // namespace voltpile::llm::jinja
