#include "llm/chat/jinja/filter_table.h"

#include <algorithm>

namespace voltpile::llm::jinja {

FilterFunction find_filter(std::string_view name) {
    for (const auto part :
         {text_filters(), number_filters(), sequence_filters(), selection_filters(), order_filters()}) {
        const auto found = std::ranges::find(part, name, &NamedFilter::name);
        if (found != part.end()) return found->function;
    }
    return nullptr;
}

}  // namespace voltpile::llm::jinja
