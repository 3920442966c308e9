// A request and its response, as handlers see them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::http {

struct Header {
    std::string name, value;
};

struct Request {
    std::string method;           // "GET", in capital letters as clients send it
    std::string path;             // percent-decoded, without the query: "/v1/models"
    std::string query;            // what follows "?", as sent
    std::vector<Header> headers;  // in the order of the request
    std::string body;
    std::string peer;  // the client's address: "127.0.0.1"
    std::string id;    // X-Request-Id of the request if it is usable, else a new one

    // Returns the value of the first header with this name, in any case; empty if there is none.
    std::string_view header(std::string_view name) const;
};

struct Response {
    int status = 200;
    std::string content_type = "application/json";
    std::string body;
    std::vector<Header> headers;  // further ones; without line breaks
};

// How the end of a response is marked.
enum class Framing { Length, Chunked, UntilClose };

// Returns the status line and the headers, with the empty line after them. id: of the request.
std::string head_text(const Response& response, Framing framing, bool keep_alive, std::string_view id,
                      const std::vector<Header>& more);

// Returns the standard's words for a status: "Not Found".
std::string_view reason_phrase(int status);

// Decodes %41. Returns nothing for a broken escape or a NUL byte.
std::optional<std::string> percent_decoded(std::string_view text);

bool same_ignoring_case(std::string_view a, std::string_view b);

}  // namespace voltpile::http
