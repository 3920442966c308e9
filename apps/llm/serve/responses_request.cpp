#include <fmt/format.h>

#include <map>

#include "llm/engine/request_fields.h"
#include "llm/serve/responses_api.h"

namespace voltpile::llm {
namespace {

void read_input_item(const nlohmann::ordered_json& value, std::size_t number,
                     std::vector<ChatMessage>& messages) {
    static const std::map<std::string, ChatRole> roles{{"system", ChatRole::System},
                                                       {"developer", ChatRole::System},
                                                       {"user", ChatRole::User},
                                                       {"assistant", ChatRole::Assistant}};
    const std::string path = fmt::format("input[{}].", number);
    FieldReader fields(value, path);
    fields.only("type", "message");
    const auto role = roles.find(fields.text("role").value_or(""));
    if (role == roles.end()) fields.fail("role", "must be one of system, developer, user, assistant");
    messages.push_back({role->second, read_content(fields, path, "content", {"input_text", "output_text"})});
    fields.ignore({"id", "status"});
    fields.finish();
}

void read_input(FieldReader& fields, std::vector<ChatMessage>& messages) {
    if (const auto instructions = fields.text("instructions"))
        messages.push_back({ChatRole::System, *instructions});
    const nlohmann::ordered_json* input = fields.find("input");
    if (!input) fields.fail("input", "is missing");
    if (input->is_string()) return messages.push_back({ChatRole::User, input->get<std::string>()});
    if (!input->is_array() || input->empty()) fields.fail("input", "must be a text or a list of messages");
    for (std::size_t i = 0; i < input->size(); ++i) {
        if (!(*input)[i].is_object()) fields.fail("input", "must be a text or a list of messages");
        read_input_item((*input)[i], i, messages);
    }
}

void refuse_unsupported(FieldReader& fields) {
    fields.ignore({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
                   "prompt_cache_retention", "parallel_tool_calls", "stream_options"});
    fields.only("previous_response_id", nullptr);
    fields.only("conversation", nullptr);
    fields.only("prompt", nullptr);
    fields.only("background", false);
    fields.only("include", nlohmann::ordered_json::array());
    fields.only("reasoning", nlohmann::ordered_json::object());
    fields.only("text", {{"format", {{"type", "text"}}}});
    fields.only("tools", nlohmann::ordered_json::array());
    fields.only("truncation", "disabled");
    if (const nlohmann::ordered_json* choice = fields.find("tool_choice");
        choice && *choice != "auto" && *choice != "none")
        fields.fail("tool_choice", "is not supported; leave it out");
}

}  // namespace

ResponsesRequest read_responses_request(std::string_view body, const ServedModel& model, std::uint64_t seed) {
    const nlohmann::ordered_json object = parse_body(body);
    FieldReader fields(object);
    check_model(fields, model);
    ResponsesRequest request;
    RequestSettings& settings = request.chat.fields.settings;
    settings.sampling = read_sampling_fields(fields);
    settings.sampling.seed = seed;
    read_input(fields, request.chat.messages);
    const auto most = fields.integer("max_output_tokens", kLeastNewTokens, kMostNewTokens);
    settings.max_tokens = static_cast<int>(most.value_or(0));
    request.chat.fields.stream = fields.boolean("stream").value_or(false);
    refuse_unsupported(fields);
    fields.finish();
    const nlohmann::ordered_json instructions = object.value("instructions", nlohmann::ordered_json());
    const nlohmann::ordered_json metadata = object.value("metadata", nlohmann::ordered_json());
    request.settings = fmt::format(
        "\"instructions\":{},\"max_output_tokens\":{},\"metadata\":{},\"parallel_tool_calls\":true,"
        "\"previous_response_id\":null,\"temperature\":{},\"text\":{{\"format\":{{\"type\":\"text\"}}}},"
        "\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":{},\"truncation\":\"disabled\",\"store\":false",
        instructions.dump(), most ? std::to_string(*most) : "null",
        metadata.is_object() ? metadata.dump() : "{}", settings.sampling.temperature,
        settings.sampling.top_p);
    return request;
}

}  // namespace voltpile::llm
