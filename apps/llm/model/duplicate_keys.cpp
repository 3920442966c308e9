#include "llm/model/duplicate_keys.h"

namespace voltpile::llm {

using nlohmann::json;

void DuplicateKeys::hear(json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) open_.emplace_back();
    if (event == json::parse_event_t::object_end) open_.pop_back();
    if (event == json::parse_event_t::key && !open_.back().insert(parsed.get<std::string>()).second &&
        !first_)
        first_ = parsed.get<std::string>();
}

}  // namespace voltpile::llm
