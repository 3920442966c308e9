// Keys that occur twice in one JSON object, of which the parser would silently keep the last.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace voltpile::llm {

class DuplicateKeys {
  public:
    // What the parser's callback hears, in its order.
    void hear(nlohmann::json::parse_event_t event, const nlohmann::json& parsed);

    const std::optional<std::string>& first() const { return first_; }

  private:
    std::vector<std::set<std::string>> open_;  // keys of the objects that have not ended
    std::optional<std::string> first_;
};

}  // namespace voltpile::llm
