// The settings of a server: one table for the options of `voltpile serve` and the keys of its jobs.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/serve/request_log.h"

namespace voltpile::llm {

struct ServeOptions {
    std::string host = "127.0.0.1";
    int port = 8000;
    std::string address_file{};
    std::string api_key_file{};
    std::string tls_cert{}, tls_key{};
    std::vector<std::string> cors_origin{};
    std::string name{};
    std::string chat_template{};
    std::string tool_format{};
    std::string log_format = "none";
    bool log_prompts = false;
    int queue = 256;
    int connections = 4096;
    int body_mb = 32;
    int grace = 30;
};

struct ServeField {
    using Member = std::variant<std::string ServeOptions::*, int ServeOptions::*, bool ServeOptions::*,
                                std::vector<std::string> ServeOptions::*>;

    std::string_view name;  // "body_mb": the key is serve.body_mb, the option --body-mb
    Member member;          // its default is the member's
    int least;              // of a number
    int most;
    std::string_view kind;                           // of a text: "FILE"
    std::string_view help;                           // a clause without a period at its end
    std::span<const std::string_view> choices = {};  // of a text; empty: any
};

inline constexpr std::array kServeFields{
    ServeField{"host", &ServeOptions::host, 0, 0, "HOST",
               "address to listen on: a name or an address; 0.0.0.0 and :: for all of this host"},
    ServeField{"port", &ServeOptions::port, 0, 65535, "", "port to listen on; 0: a free one"},
    ServeField{"address_file", &ServeOptions::address_file, 0, 0, "FILE",
               "file that gets the server's address while it listens"},
    ServeField{
        "api_key_file", &ServeOptions::api_key_file, 0, 0, "FILE",
        "file of API keys, one a line, perhaps with a name and a weight; without it everybody may use the "
        "server"},
    ServeField{"tls_cert", &ServeOptions::tls_cert, 0, 0, "FILE",
               "certificate chain in PEM: serve HTTPS; needs the private key"},
    ServeField{"tls_key", &ServeOptions::tls_key, 0, 0, "FILE", "private key of the certificate in PEM"},
    ServeField{"cors_origin", &ServeOptions::cors_origin, 0, 0, "ORIGIN",
               "origin whose pages may use the API (https://chat.example, or *); there may be several"},
    ServeField{"name", &ServeOptions::name, 0, 0, "NAME",
               "name of the model in the API; otherwise that of its file"},
    ServeField{"template", &ServeOptions::chat_template, 0, 0, "NAME",
               "chat template; otherwise the model's own"},
    ServeField{"tool_format", &ServeOptions::tool_format, 0, 0, "FORMAT",
               "how the model writes calls of tools: hermes, llama3, mistral, mistral-args or harmony; "
               "otherwise as its chat template does"},
    ServeField{"log_format", &ServeOptions::log_format, 0, 0, "FORMAT",
               "write a line to stdout for each request for text and each refused one, for people or as JSON",
               kLogFormatNames},
    ServeField{"log_prompts", &ServeOptions::log_prompts, 0, 0, "",
               "write the bodies of these requests, prompts included, into the lines; needs a log_format"},
    ServeField{"queue", &ServeOptions::queue, 0, 1 << 20, "",
               "requests of one API key that may wait; more get status 429"},
    ServeField{"connections", &ServeOptions::connections, 1, 1 << 20, "",
               "open connections; more get status 503"},
    ServeField{"body_mb", &ServeOptions::body_mb, 1, 1 << 10, "",
               "largest body of a request in MiB; larger ones get status 413"},
    ServeField{"grace", &ServeOptions::grace, 0, 86400, "",
               "seconds that running requests have to finish after a stop signal"},
};

}  // namespace voltpile::llm
