// The tools that a request offers to the model: what all chat APIs have in common.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "llm/serve/completion_request.h"

namespace voltpile::llm {

struct OfferedTool {
    std::string place;  // in the request, for messages: "tools[0].function"
    std::string name;
    std::string description;            // may be empty
    nlohmann::ordered_json parameters;  // a JSON schema; null: the tool takes no arguments
    // Otherwise the arguments may be any object if the schema has what grammars do not support.
    bool strict = true;
};

struct ToolChoice {
    enum class Kind { Auto, None, Required };
    Kind kind = Kind::Auto;
    std::string name{};    // with Required: this tool; empty: any
    bool parallel = true;  // the answer may have several calls
};

// Puts tools into a request: for its template, as the grammar of the answer, and as the form in which the
// answer is read. Throws ApiError, also if the model does not take tools.
void offer_tools(const std::vector<OfferedTool>& tools, const ToolChoice& choice, const ServedModel& model,
                 ChatRequest& request);

// Reads tools, tool_choice and parallel_tool_calls of /v1/chat/completions and offers them.
void read_chat_tools(FieldReader& fields, const ServedModel& model, ChatRequest& request);

// Reads a list of objects; nothing if the field is absent.
std::vector<nlohmann::ordered_json> read_objects(FieldReader& fields, std::string_view name);

// Reads name, description, parameters (which this API calls `schema`) and strict.
OfferedTool read_tool(FieldReader& fields, const std::string& place, std::string_view schema);

}  // namespace voltpile::llm
