// Reads the fields of a JSON object in a request, and refuses by name what is wrong or unknown.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

// Parses the body of a request. Throws ApiError (400) for anything but one JSON object, with the place of the
// error.
nlohmann::json parse_body(std::string_view body);

// A field that is null counts as absent, as in OpenAI's API. All functions throw ApiError (400).
class FieldReader {
  public:
    // object: must outlive this. path: its place in the request, "messages[2].", for messages.
    explicit FieldReader(const nlohmann::json& object, std::string path = {});

    // Returns a field, or nullptr if it is absent. The field counts as known from now on.
    const nlohmann::json* find(std::string_view name);

    std::optional<bool> boolean(std::string_view name);
    std::optional<std::int64_t> integer(std::string_view name, std::int64_t least, std::int64_t most);
    std::optional<double> number(std::string_view name, double least, double most);
    std::optional<std::string> text(std::string_view name);
    // One text or a list of texts, none of them empty.
    std::vector<std::string> texts(std::string_view name, std::size_t most);

    // Fields that change nothing about the answer.
    void ignore(std::initializer_list<std::string_view> names);
    // A field that would change the answer and is not supported, unless it has the value that means "no".
    void only(std::string_view name, const nlohmann::json& supported);
    // Refuses all other fields.
    void finish() const;

    [[noreturn]] void fail(std::string_view name, const std::string& problem) const;

  private:
    const nlohmann::json& object_;
    std::string path_;
    std::vector<std::string> known_;
};

}  // namespace voltpile::llm
