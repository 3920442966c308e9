#include "llm/engine/request_fields.h"
#include "llm/serve/messages_api.h"

namespace voltpile::llm {
namespace {

constexpr std::size_t most_stop_sequences = 64;

void read_anthropic_message(const nlohmann::ordered_json& value, std::size_t number,
                            std::vector<ChatMessage>& messages) {
    const std::string path = "messages[" + std::to_string(number) + "].";
    FieldReader fields(value, path);
    const auto role = fields.text("role");
    if (role != "user" && role != "assistant") fields.fail("role", "must be user or assistant");
    messages.push_back({role == "user" ? ChatRole::User : ChatRole::Assistant,
                        read_content(fields, path, "content", {"text"})});
    fields.finish();
}

}  // namespace

ChatRequest read_messages_request(std::string_view body, const ServedModel& model, std::uint64_t seed) {
    const nlohmann::ordered_json object = parse_body(body);
    FieldReader fields(object);
    check_model(fields, model);
    ChatRequest request;
    RequestSettings& settings = request.fields.settings;
    settings.sampling = read_sampling_fields(fields);
    settings.sampling.seed = seed;
    if (const nlohmann::ordered_json* system = fields.find("system");
        system && !(system->is_array() && system->empty()))
        request.messages.push_back({ChatRole::System, read_content(fields, "", "system", {"text"})});
    const nlohmann::ordered_json* list = fields.find("messages");
    if (!list || !list->is_array() || list->empty()) fields.fail("messages", "must be a list of messages");
    for (std::size_t i = 0; i < list->size(); ++i) {
        if (!(*list)[i].is_object())
            fields.fail("messages", "must be a list of objects with \"role\" and \"content\"");
        read_anthropic_message((*list)[i], i, request.messages);
    }
    const auto most = fields.integer("max_tokens", kLeastNewTokens, kMostNewTokens);
    if (!most) fields.fail("max_tokens", "is missing");
    settings.max_tokens = static_cast<int>(*most);
    settings.stop = fields.texts("stop_sequences", most_stop_sequences);
    request.fields.stream = fields.boolean("stream").value_or(false);
    fields.ignore({"metadata", "service_tier", "cache_control"});
    fields.only("tools", nlohmann::ordered_json::array());
    fields.only("tool_choice", {{"type", "none"}});
    fields.only("thinking", {{"type", "disabled"}});
    fields.finish();
    return request;
}

}  // namespace voltpile::llm
