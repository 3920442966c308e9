// Reads keys of a JSON object and checks their types. A key whose value is null counts as absent.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

// All methods throw FileError "path: key ..." for a value of another type; real() accepts integers too.
class JsonKeys {
  public:
    // object: must outlive this. path: for messages.
    JsonKeys(const nlohmann::json& object, std::string_view path) : object_(object), path_(path) {}

    const nlohmann::json* find(std::string_view key) const;
    std::optional<std::int64_t> integer(std::string_view key) const;
    std::optional<double> real(std::string_view key) const;
    std::optional<bool> boolean(std::string_view key) const;
    std::optional<std::string> text(std::string_view key) const;
    std::optional<JsonKeys> object(std::string_view key) const;
    std::vector<std::int64_t> integers(std::string_view key) const;  // from a list or a single number
    std::vector<double> reals(std::string_view key) const;           // from a list

    std::int64_t required_integer(std::string_view key) const;

    [[noreturn]] void fail(const std::string& message) const;

  private:
    [[noreturn]] void fail_type(std::string_view key, std::string_view expected) const;

    const nlohmann::json& object_;
    std::string_view path_;
};

}  // namespace voltpile::llm
