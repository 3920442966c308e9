// The tools that a request offers to the model: what all chat APIs have in common.
#pragma once

#include <map>
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

// The names of the tools that a conversation has called, by the ids of the calls. Some APIs' results name
// the call only, and some templates show the name.
class CalledTools {
  public:
    void add(const std::string& id, const std::string& name) { names_[id] = name; }
    // Returns the message of a result.
    ChatMessage result(const std::string& id, std::string content) const;

  private:
    std::map<std::string, std::string> names_;
};

// Puts tools into a request: for its template, as the grammar of the answer, and as the form in which the
// answer is read. Throws ApiError, also if the model does not take tools.
void offer_tools(const std::vector<OfferedTool>& tools, const ToolChoice& choice, const ServedModel& model,
                 ChatRequest& request);

// Reads tools, tool_choice and parallel_tool_calls of /v1/chat/completions and offers them.
void read_chat_tools(FieldReader& fields, const ServedModel& model, ChatRequest& request);

// Reads a list of objects; nothing if the field is absent.
std::vector<nlohmann::ordered_json> read_objects(FieldReader& fields, std::string_view name);

// Reads tool_choice and parallel_tool_calls of OpenAI's APIs. An object that names a function has the name in
// an object "function" if `nested`, as in chats, otherwise beside its type.
ToolChoice read_tool_choice(FieldReader& fields, bool nested);

// Reads name, description, parameters (which this API calls `schema`) and strict.
OfferedTool read_tool(FieldReader& fields, const std::string& place, std::string_view schema);

}  // namespace voltpile::llm
