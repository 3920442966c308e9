// A JSON schema as it was written: references, and the merging of schemas that must all hold.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

using SchemaJson = nlohmann::ordered_json;  // properties in the schema's order

// Throws JobError "JSON schema: #/place: problem". pointer: the place as a JSON pointer.
[[noreturn]] void fail_at(std::string_view pointer, std::string_view problem);

// Returns the place of a key or an element below `pointer`.
std::string below(std::string_view pointer, std::string_view key);

class SchemaDocument {
  public:
    // Throws JobError if the text is not JSON, or nested too deep.
    explicit SchemaDocument(std::string_view text);

    const SchemaJson& root() const { return root_; }

    // Returns the schema that "$ref" names ("#", "#/$defs/name"). pointer: of the schema with the reference.
    const SchemaJson& target(const SchemaJson& ref, std::string_view pointer) const;
    // Whether a schema has a "$ref" and nothing else that matters.
    static bool is_reference(const SchemaJson& schema);

    // Returns a schema without "$ref", "allOf" and annotations at its top that demands the same: true, false
    // or an object. Refuses unknown keywords, and what cannot be merged.
    SchemaJson flattened(const SchemaJson& schema, const std::string& pointer);

    static constexpr int most_depth = 100;  // of nested values

  private:
    SchemaJson flattened(const SchemaJson& schema, const std::string& pointer, int depth);
    SchemaJson merged(const SchemaJson& a, const SchemaJson& b, const std::string& pointer);

    SchemaJson root_;
    int merges_left_ = 10'000;
};

// The types that a flattened schema names; all seven if it has no "type".
std::vector<std::string> types_of(const SchemaJson& schema, std::string_view pointer);
// Whether a value has one of these types.
bool has_type(const SchemaJson& value, const std::vector<std::string>& types);
// Returns the values of "enum" or "const" that have the schema's type, or nullptr.
SchemaJson enumerated(const SchemaJson& schema, std::string_view pointer);

// Whether a value may satisfy both schemas, as far as that can be seen easily.
bool may_overlap(SchemaDocument& document, const SchemaJson& a, const SchemaJson& b,
                 const std::string& pointer, int depth = 0);

}  // namespace voltpile::llm
