#include "llm/chat/jinja/item_path.h"

#include <charconv>

#include "llm/chat/jinja/access.h"
#include "llm/chat/jinja/interpreter.h"
#include "llm/chat/jinja/python_text.h"

namespace voltpile::llm::jinja {

ItemPath::ItemPath(Interpreter& interpreter, const Value* path, const Value* otherwise)
    : interpreter_(interpreter), otherwise_(otherwise) {
    if (!path || path->is(Kind::None)) return;
    if (!path->is(Kind::Text)) {
        parts_.push_back(*path);
        return;
    }
    interpreter.spend(path->text().size() * kElementCost);
    for (const std::string_view part : split(path->text(), ".", -1)) {
        std::int64_t index = 0;
        const char* const end = part.data() + part.size();
        const bool digits = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
        const bool is_index = digits && std::from_chars(part.data(), end, index).ec == std::errc();
        parts_.push_back(is_index ? Value(index) : Value(part));
    }
}

Value ItemPath::of(Value element) const {
    for (const Value& part : parts_) {
        interpreter_.spend(kStepCost);
        element = item_of(interpreter_, element, part);
        if (otherwise_ && element.is(Kind::Undefined)) element = *otherwise_;
    }
    return element;
}

}  // namespace voltpile::llm::jinja
