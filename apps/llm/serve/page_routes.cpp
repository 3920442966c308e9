#include "llm/serve/page_routes.h"

#include <string>
#include <utility>

#include "llm/serve/page_files.h"

namespace voltpile::llm {
namespace {

http::Response page_response(const PageFile& file, std::string_view known_etags) {
    http::Response response;
    response.headers = {{"ETag", std::string(file.etag)},
                        {"Cache-Control", "no-cache"},
                        {"Content-Security-Policy", std::string(page_security_policy())},
                        {"X-Content-Type-Options", "nosniff"},
                        {"Referrer-Policy", "no-referrer"}};
    response.content_type = file.content_type;
    if (known_etags.find(file.etag) != std::string_view::npos) {
        response.status = 304;
    } else {
        response.body = file.body;
    }
    return response;
}

}  // namespace

void add_page_routes(http::Router& router) {
    for (const PageFile& file : page_files()) {
        router.add("GET", std::string(file.path), [&file](const http::Request& request, http::Reply reply) {
            reply.send(page_response(file, request.header("If-None-Match")));
        });
    }
}

}  // namespace voltpile::llm
