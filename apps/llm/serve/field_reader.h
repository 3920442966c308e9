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

// Parses the body of a request; keys keep their order, which counts in schemas and in what templates print.
// Throws ApiError (400) for anything but one JSON object, with the place of the error.
nlohmann::ordered_json parse_body(std::string_view body);

// Returns the value of a whole number, which JSON may also write as 5.0; nothing for anything else, and
// beyond 64 bits.
std::optional<std::int64_t> whole_number(const nlohmann::ordered_json& value);
// Returns the token, if it is one of a vocabulary of this size.
std::optional<std::int32_t> token_number(const nlohmann::ordered_json& value, std::int64_t vocabulary);

// A field that is null counts as absent, as in OpenAI's API. All functions throw ApiError (400).
class FieldReader {
  public:
    // object: must outlive this. path: its place in the request, "messages[2].", for messages.
    explicit FieldReader(const nlohmann::ordered_json& object, std::string path = {});

    const nlohmann::ordered_json& object() const { return object_; }

    // Returns a field, or nullptr if it is absent. The field counts as known from now on.
    const nlohmann::ordered_json* find(std::string_view name);

    std::optional<bool> boolean(std::string_view name);
    std::optional<std::int64_t> integer(std::string_view name, std::int64_t least, std::int64_t most);
    std::optional<double> number(std::string_view name, double least, double most);
    std::optional<std::string> text(std::string_view name);
    // One text or a list of texts, none of them empty.
    std::vector<std::string> texts(std::string_view name, std::size_t most);

    // Fields that change nothing about the answer.
    void ignore(std::initializer_list<std::string_view> names);
    // A field that would change the answer and is not supported, unless it has the value that means "no".
    void only(std::string_view name, const nlohmann::ordered_json& supported);
    // Refuses all other fields.
    void finish() const;

    [[noreturn]] void fail(std::string_view name, const std::string& problem) const;

  private:
    const nlohmann::ordered_json& object_;
    std::string path_;
    std::vector<std::string> known_;
};

}  // namespace voltpile::llm
