// The address of an HTTP server.
#pragma once

#include <string>
#include <string_view>

namespace voltpile::http {

struct Url {
    bool tls = false;
    std::string host;  // a name or an address; of IPv6 without brackets
    int port = 0;
    std::string path;  // "/v1/models"; empty, or begins with "/"

    // Reads "http://127.0.0.1:8000/v1", with the scheme's port if it names none. Throws JobError that quotes
    // the text.
    static Url parse(std::string_view text);

    std::string authority() const;  // "127.0.0.1:8000", as in a Host header
    std::string text() const;
};

}  // namespace voltpile::http
