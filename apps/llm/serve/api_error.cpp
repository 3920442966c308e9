#include "llm/serve/api_error.h"

#include <nlohmann/json.hpp>

namespace voltpile::llm {
namespace {

std::string_view error_type(int status) {
    if (status == 401) return "authentication_error";
    if (status == 429) return "rate_limit_error";
    if (status == 503) return "service_unavailable_error";
    return status < 500 ? "invalid_request_error" : "server_error";
}

nlohmann::json text_or_null(const std::string& text) {
    return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

}  // namespace

std::string ApiError::body() const {
    const nlohmann::ordered_json error{{"message", what()},
                                       {"type", error_type(status_)},
                                       {"param", text_or_null(field_)},
                                       {"code", text_or_null(code_)}};
    // A message may quote bytes of the request that are not UTF-8.
    return nlohmann::ordered_json{{"error", error}}.dump(-1, ' ', false,
                                                         nlohmann::json::error_handler_t::replace);
}

http::Response ApiError::response(std::string body) const {
    http::Response response;
    response.status = status_;
    response.body = std::move(body);
    if (status_ == 401) response.headers.push_back({"WWW-Authenticate", "Bearer"});
    if (retry_seconds_ > 0) response.headers.push_back({"Retry-After", std::to_string(retry_seconds_)});
    return response;
}

}  // namespace voltpile::llm
