// Expressions for JSON texts.
//
// White space is optional, and limited so that a model cannot write it without end: a space, or a line feed
// and an indentation of at most 40 spaces or tabs, after '{', '[', ',' and ':' and before '}' and ']'.
// Numbers have at most 15 digits before and after the point and two in the exponent, so every program can
// read them. Strings are valid UTF-8, and their \u escapes of surrogates come in pairs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/grammar/expression.h"

namespace voltpile::llm {

struct JsonProperty {
    ExpressionPtr key;  // with its quotes
    ExpressionPtr value;
    bool required = false;
};

class JsonText {
  public:
    JsonText();

    GrammarRules& rules() { return rules_; }

    ExpressionPtr any_value() const { return call(value_); }
    ExpressionPtr any_object() const { return call(object_); }
    ExpressionPtr any_string() const { return call(string_); }
    // A string of least .. most characters; most -1: without limit.
    ExpressionPtr string(int least, int most) const;
    // The characters of such a string without the quotes, each spelled as in_json_string() does.
    static ExpressionPtr characters(int least, int most);
    static ExpressionPtr number();
    // A whole number with these bounds, where there are any.
    static ExpressionPtr integer(std::optional<std::int64_t> least, std::optional<std::int64_t> most);

    // An object with `properties` in their order, then any number of `others` (a key and a value), or none if
    // that is nullptr.
    ExpressionPtr object(const std::vector<JsonProperty>& properties, const ExpressionPtr& others_key,
                         const ExpressionPtr& others_value);
    // An array of `first`, as many of them as are wanted, and then of `item` (nullptr: none). most -1:
    // without limit.
    ExpressionPtr array(const std::vector<ExpressionPtr>& first, const ExpressionPtr& item, int least,
                        int most);

    // Makes an expression a rule, so that it can be used several times at no cost.
    ExpressionPtr shared(std::string_view name, ExpressionPtr expression);

  private:
    ExpressionPtr space() const { return optional(call(space_)); }
    ExpressionPtr member(const ExpressionPtr& key, const ExpressionPtr& value) const;

    GrammarRules rules_;
    int space_, escape_, string_, value_, object_;
};

}  // namespace voltpile::llm
