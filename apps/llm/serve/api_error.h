// Why a request to the API is refused or failed, in the form in which OpenAI's API says it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "http/message.h"

namespace voltpile::llm {

class ApiError : public std::runtime_error {
  public:
    // field: the invalid field, or empty if the error concerns the request as a whole. code: an error code
    // for programs, such as "model_not_found"; may be empty.
    ApiError(int status, const std::string& message, std::string field = {}, std::string code = {})
        : std::runtime_error(message), status_(status), field_(std::move(field)), code_(std::move(code)) {}

    int status() const { return status_; }
    // Tells the client to try again after this time.
    ApiError retry_after(int seconds) && {
        retry_seconds_ = seconds;
        return std::move(*this);
    }

    // {"error": {"message", "type", "param", "code"}}
    std::string body() const;
    http::Response response() const { return response(body()); }
    http::Response response(std::string body) const;  // with a body in another form

  private:
    int status_;
    int retry_seconds_ = 0;
    std::string field_, code_;
};

}  // namespace voltpile::llm
