// JSON schemas: texts that they accept and refuse by the specification, and what is not supported.
#include "llm/grammar_fixture.h"

namespace voltpile::llm::grammar_schema_test {
namespace {

struct Texts {
    std::vector<const char*> accepted, refused;
};

void check(const std::string& schema, const Texts& texts) {
    const auto grammar = schema_grammar(schema);
    for (const char* text : texts.accepted)
        EXPECT_TRUE(accepts_text(*grammar, text)) << schema << "\n" << text;
    for (const char* text : texts.refused)
        EXPECT_FALSE(accepts_text(*grammar, text)) << schema << "\n" << text;
}

std::string schema_refusal(std::string schema) {
    return refusal_of(GrammarSource::Kind::JsonSchema, std::move(schema));
}

TEST(JsonSchema, Scalars) {
    check(R"({"type": "null"})", {{"null"}, {"nul", "nulll", "true", ""}});
    check(R"({"type": ["boolean", "integer"]})",
          {{"true", "false", "-12", "0"}, {"null", "01", "1.0", "-0", "\"1\""}});
    check(R"({"type": "number"})", {{"0", "-0", "12.50", "1e5", "-3.25E-07", "123456789012345"},
                                    {"01", "1.", ".5", "+1", "1e", "Infinity", "NaN"}});
    check(R"({"type": "string"})",
          {{R"("")", R"("é日😀")", R"("\"\\\/\b\f\n\r\t\u00e9")", R"("\ud83d\ude00")"},
           {R"(")", R"("a)", "\"\n\"", R"("\x41")", R"("\ud83d")", R"("\ude00")", "\"\xC3\"",
            "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\""}});
}

TEST(JsonSchema, IntegerBounds) {
    for (const auto& [least, most] :
         std::vector<std::pair<int, int>>{{0, 150}, {-37, 12}, {7, 7}, {-120, -95}, {99, 1001}}) {
        const auto grammar = schema_grammar(R"({"type": "integer", "minimum": )" + std::to_string(least) +
                                            R"(, "maximum": )" + std::to_string(most) + "}");
        for (int number = -1200; number <= 1200; ++number)
            EXPECT_EQ(accepts_text(*grammar, std::to_string(number)), least <= number && number <= most)
                << number << " in " << least << ".." << most;
    }
    check(R"({"type": "integer", "exclusiveMinimum": 1.5, "exclusiveMaximum": 4})",
          {{"2", "3"}, {"1", "4", "1.6"}});
    check(R"({"type": "integer", "exclusiveMinimum": 2})", {{"3", "1000"}, {"2", "-3"}});
    EXPECT_EQ(schema_refusal(R"({"type": "integer", "minimum": 3, "maximum": 2})"),
              "no text satisfies the grammar");
}

TEST(JsonSchema, StringsOfALengthCountCharacters) {
    check(R"({"type": "string", "minLength": 2, "maxLength": 3})",
          {{R"("ab")", R"("日本語")", R"("\n\u00e9")", R"("😀\ud83d\ude00")"},
           {R"("a")", R"("abcd")", R"("é")"}});
}

TEST(JsonSchema, Patterns) {
    check(R"({"type": "string", "pattern": "^[a-c]+\\d$"})",
          {{R"("abc1")"}, {R"("abc")", R"("1")", R"("xabc1")", R"("abc12")"}});
    check(R"({"type": "string", "pattern": "b"})",
          {{R"("b")", R"("abc")", R"("\nb\"")"}, {R"("ac")", R"("")"}});
    check(R"({"type": "string", "pattern": "^a|b$"})", {{R"("ax")", R"("xb")"}, {R"("ba")", R"("xay")"}});
    check(R"({"type": "string", "pattern": "^\"[\\\\\n]$"})", {{R"("\"\\")", R"("\"\n")"}, {R"("\"x")"}});
    check(R"({"type": "string", "pattern": "^a*$", "minLength": 2, "maxLength": 3})",
          {{R"("aa")", R"("aaa")"}, {R"("a")", R"("aaaa")", R"("ab")"}});
}

TEST(JsonSchema, Formats) {
    check(R"({"format": "date"})", {{R"("2024-02-29")", R"("2000-02-29")", R"("1999-12-31")"},
                                    {R"("2023-02-29")", R"("1900-02-29")", R"("2024-04-31")",
                                     R"("2024-13-01")", R"("0000-01-01")", R"("24-1-1")"}});
    check(R"({"format": "time"})", {{R"("23:59:59Z")", R"("00:00:00.125+05:30")"},
                                    {R"("24:00:00Z")", R"("12:00:00")", R"("12:60:00Z")"}});
    check(R"({"format": "date-time"})",
          {{R"("2024-02-29T12:30:00Z")"}, {R"("2024-02-29 12:30:00Z")", R"("2024-02-30T12:30:00Z")"}});
    check(R"({"format": "uuid"})",
          {{R"("123e4567-e89b-12d3-a456-426614174000")"}, {R"("123e4567e89b12d3a456426614174000")"}});
    check(R"({"format": "email"})",
          {{R"("jo.e+x@example.co.uk")"}, {R"("joe")", R"("joe@x")", R"("@x.com")", R"("a b@x.com")"}});
    check(R"({"format": "ipv4"})",
          {{R"("255.0.10.199")"}, {R"("256.0.0.1")", R"("1.2.3")", R"("01.2.3.4")"}});
    check(R"({"format": "duration"})",
          {{R"("P1Y2M3DT4H5M6S")", R"("PT36H")", R"("P2W")"}, {R"("P")", R"("PT")", R"("1D")", R"("P1H")"}});
}

TEST(JsonSchema, Objects) {
    const std::string schema =
        R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "null"}, "c": {"type": "integer"}},)"
        R"( "required": ["b"], "additionalProperties": false})";
    check(schema, {{R"({"b":null})", R"({"a": 1, "b": null})", R"({"b":null,"c":2})",
                    "{\n  \"a\": 1,\n  \"b\": null\n}"},
                   {"{}", R"({"a":1})", R"({"b":null,"a":1})", R"({"b":null,})", R"({"b":null,"d":1})",
                    R"({"b" :null})"}});
    check(R"({"type": "object", "properties": {"a": true, "b": true}})",
          {{"{}", R"({"a":[{}]})", R"({"b":"x"})"}, {R"({"c":1})"}});
    check(R"({"type": "object", "required": ["x"], "additionalProperties": {"type": "integer"}})",
          {{R"({"x":1})", R"({"x":1,"y":2,"z":3})"},
           {"{}", R"({"y":1})", R"({"x":"1"})", R"({"x":1,"y":null})"}});
}

TEST(JsonSchema, OtherPropertiesNeverRepeatANamedOne) {
    check(
        R"({"type": "object", "properties": {"ab": {"type": "integer"}}, "additionalProperties": {"type": "null"}})",
        {{R"({"ab":1})", R"({"a":null})", R"({"abc":null})", R"({"ab":1,"b":null,"":null})"},
         {R"({"ab":null})", R"({"x":null,"ab":null})", R"({"\u0061b":null})"}});
}

TEST(JsonSchema, Arrays) {
    check(R"({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3})",
          {{"[1]", "[1, 2,3]", "[\n  1\n]"}, {"[]", "[1,2,3,4]", "[1,]", "[\"1\"]"}});
    check(
        R"({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "null"}], "items": {"type": "boolean"}})",
        {{"[]", "[1]", "[1,null]", "[1,null,true,false]"}, {"[null]", "[1,true]", "[1,null,2]"}});
    check(R"({"type": "array", "prefixItems": [{"type": "integer"}], "items": false, "minItems": 1})",
          {{"[1]"}, {"[]", "[1,1]"}});
    check(R"({"type": "array", "maxItems": 0})", {{"[]"}, {"[1]"}});
}

TEST(JsonSchema, Choices) {
    check(R"({"enum": ["a\"b", 1, null, {"k": [true]}]})",
          {{R"("a\"b")", "1", "null", R"({"k":[true]})"}, {"\"a\"", "2", "[true]"}});
    check(R"({"enum": ["a", 1], "type": "string"})", {{"\"a\""}, {"1"}});
    check(R"({"const": 2.5})", {{"2.5"}, {"2"}});
    check(R"({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]})",
          {{"7", "\"x\""}, {"\"xy\"", "null"}});
    check(
        R"({"type": "object", "properties": {"a": {"type": "integer"}}, "anyOf": [{"required": ["a"]}, {"properties": {"b": true}, "required": ["b"]}]})",
        {{R"({"a":1})", R"({"a":1,"b":2})", R"({"b":2})"}, {"{}"}});
    check(
        R"({"oneOf": [{"type": "object", "properties": {"k": {"const": "x"}}, "required": ["k"]},)"
        R"( {"type": "object", "properties": {"k": {"const": "y"}}, "required": ["k"]}, {"type": "null"}]})",
        {{R"({"k":"x"})", R"({"k":"y"})", "null"}, {R"({"k":"z"})", "{}"}});
}

TEST(JsonSchema, MergesAllOf) {
    check(
        R"({"allOf": [{"type": "object", "properties": {"a": {"type": "integer", "minimum": 2}}, "required": ["a"]},)"
        R"( {"properties": {"a": {"type": "number", "maximum": 4}, "b": {"type": "null"}}, "required": ["b"]}]})",
        {{R"({"a":3,"b":null})"}, {R"({"a":1,"b":null})", R"({"a":5,"b":null})", R"({"a":3})"}});
    check(
        R"({"allOf": [{"properties": {"a": {}, "b": {}}}, {"properties": {"a": {}}, "additionalProperties": false}]})",
        {{R"({"a":1})"}, {R"({"b":1})"}});
}

TEST(JsonSchema, References) {
    check(R"({"$ref": "#/$defs/n~1m", "$defs": {"n/m": {"type": "integer"}}})", {{"3"}, {"null"}});
    const std::string list =
        R"({"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["next"]})";
    check(list, {{R"({"next":null})", R"({"next":{"next":{"next":null}}})"},
                 {R"({"next":{}})", R"({"next":{"next":null})"}});
    check(R"({"$ref": "#/$defs/s", "minLength": 2, "$defs": {"s": {"type": "string", "maxLength": 2}}})",
          {{"\"ab\""}, {"\"a\"", "\"abc\""}});
}

TEST(JsonSchema, AnyObject) {
    const auto grammar = grammar_of(GrammarSource::Kind::JsonObject, "");
    for (const char* text : {"{}", R"({"a": [1, {"b": "c"}, null, true], "": -1.5e3})"})
        EXPECT_TRUE(accepts_text(*grammar, text)) << text;
    for (const char* text : {"[]", "1", R"({"a"})", R"({"a":1,})", R"({'a':1})", "{} "})
        EXPECT_FALSE(accepts_text(*grammar, text)) << text;
}

TEST(JsonSchema, RefusesWhatIsNotSupportedByNameAndPlace) {
    EXPECT_EQ(schema_refusal(R"({"type": "object", "properties": {"a/b": {"patternProperties": {}}}})"),
              "JSON schema: #/properties/a~1b: 'patternProperties' is not supported");
    EXPECT_EQ(schema_refusal(R"({"type": "array", "items": {"not": {}}})"),
              "JSON schema: #/items: 'not' is not supported");
    EXPECT_EQ(schema_refusal(R"({"type": "array", "uniqueItems": true})"),
              "JSON schema: #: 'uniqueItems' is not supported");
    EXPECT_EQ(schema_refusal(R"({"requierd": []})"), "JSON schema: #: 'requierd' is not supported");
    EXPECT_EQ(schema_refusal(R"({"type": "number", "minimum": 1})"),
              "JSON schema: #: 'minimum' is supported for integers only");
    EXPECT_EQ(schema_refusal(R"({"format": "uri"})"),
              "JSON schema: #/format: the format \"uri\" is not supported");
    EXPECT_EQ(schema_refusal(R"({"$ref": "other.json"})"),
              "JSON schema: #: '$ref' to 'other.json': only references within the schema are supported");
    EXPECT_EQ(schema_refusal(R"({"$ref": "#/$defs/x"})"),
              "JSON schema: #: '$ref' to '#/$defs/x': the schema has no such place");
    EXPECT_NE(schema_refusal(R"({"oneOf": [{"type": "number"}, {"type": "integer"}]})")
                  .find("the alternatives 0 and 1 may hold at once"),
              std::string::npos);
    EXPECT_EQ(schema_refusal("{\"pattern\": \"(?=a)\"}"),
              "JSON schema: #: pattern '(?=a)': character 3: look-around is not supported");
}

TEST(JsonSchema, RefusesBrokenSchemas) {
    EXPECT_NE(schema_refusal("{").find("JSON schema: "), std::string::npos);
    EXPECT_EQ(schema_refusal("3"), "JSON schema: #: a schema is an object, true or false");
    EXPECT_EQ(schema_refusal(R"({"type": "text"})"), "JSON schema: #/type: \"text\" is not a type");
    EXPECT_EQ(schema_refusal(R"({"type": "string", "maxLength": -1})"),
              "JSON schema: #/maxLength: not a count");
    EXPECT_EQ(schema_refusal(R"({"minItems": 3, "maxItems": 1})"),
              "JSON schema: #: 'minItems' is above 'maxItems'");
    EXPECT_EQ(schema_refusal("false"), "no text satisfies the grammar");
    EXPECT_EQ(schema_refusal(R"({"properties": {"a": false}, "required": ["a"]})"),
              "no text satisfies the grammar");
    EXPECT_EQ(schema_refusal(R"({"required": ["a"], "additionalProperties": false})"),
              "JSON schema: #: 'a' is required but not allowed");
    EXPECT_EQ(schema_refusal(R"({"anyOf": [{"$ref": "#"}, {"type": "null"}]})"),
              "'#' refers to itself before it reads any text");
    EXPECT_NE(schema_refusal(R"({"allOf": [{"$ref": "#"}]})").find("refers to itself without end"),
              std::string::npos);
}

TEST(JsonSchema, BoundsTheWork) {
    EXPECT_NE(schema_refusal(R"({"type": "string", "maxLength": 50000})").find("use smaller repeat counts"),
              std::string::npos);
    EXPECT_NE(schema_refusal(R"({"type": "string", "maxLength": 1000000})").find("#/maxLength: counts above"),
              std::string::npos);
    std::string deep;
    for (int i = 0; i < 200; ++i) deep += R"({"items": )";
    EXPECT_EQ(schema_refusal(deep), "JSON schema: more than 100 nested values");
    EXPECT_NE(schema_refusal(std::string(Grammar::most_source_bytes + 1, ' ')).find("is above the limit"),
              std::string::npos);
}

}  // namespace
}  // namespace voltpile::llm::grammar_schema_test
