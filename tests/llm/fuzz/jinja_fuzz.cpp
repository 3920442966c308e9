// libFuzzer: any text is a chat template, or a JobError.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "llm/chat/jinja/template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace voltpile;
    using llm::jinja::Value;
    const Value call = Value::map({{"name", "f"}, {"arguments", Value::map({{"a", 1}, {"b", 2.5}})}});
    const Value messages = Value::list({
        Value::map({{"role", "user"}, {"content", "Hi \xC3\xA9"}}),
        Value::map({{"role", "assistant"}, {"content", Value()}, {"tool_calls", Value::list({call})}}),
    });
    try {
        const llm::jinja::Template chat({reinterpret_cast<const char*>(data), size}, "fuzz");
        return chat.render({{"messages", messages}, {"bos_token", "<s>"}, {"add_generation_prompt", true}}, 0)
            .empty();
    } catch (const JobError&) {
        return 0;
    }
}
