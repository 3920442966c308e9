// libFuzzer: any body is a request of each API, or an error that the client gets with a status of 4xx.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "llm/serve/api_error.h"
#include "llm/serve/completion_request.h"
#include "llm/serve/messages_api.h"
#include "llm/serve/responses_api.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace voltpile;
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    llm::ServedModel model{"tiny", 512, 256, 0};
    model.takes_tools = true;
    model.tool_format = llm::ToolFormat::Hermes;
    const auto read = [](auto&& reader) {
        try {
            reader();
        } catch (const llm::ApiError& error) {
            if (error.status() < 400 || error.status() > 499 || error.body().empty()) std::abort();
        } catch (const JobError& error) {  // the server answers 400
            if (std::string_view(error.what()).empty()) std::abort();
        }
    };
    read([&] { llm::read_chat_request(body, model, 1); });
    read([&] { llm::read_completion_request(body, model, 1); });
    read([&] { llm::read_responses_request(body, model, 1); });
    read([&] { llm::read_messages_request(body, model, 1); });
    return 0;
}
