#include "http/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

namespace voltpile::http {

struct RequestParser::Parser : boost::beast::http::request_parser<boost::beast::http::string_body> {};

namespace {

std::string text_of(boost::beast::string_view view) {
    return {view.data(), view.size()};
}

// "http://host/path" is as good as "/path": proxies send it.
std::string_view without_origin(std::string_view target) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (!target.starts_with(scheme)) continue;
        const std::size_t slash = target.find('/', scheme.size());
        return slash == std::string_view::npos ? "/" : target.substr(slash);
    }
    return target;
}

}  // namespace

RequestParser::RequestParser(std::size_t header_bytes, std::size_t body_bytes)
    : parser_(std::make_unique<Parser>()), header_bytes_(header_bytes), body_bytes_(body_bytes) {
    parser_->header_limit(static_cast<std::uint32_t>(header_bytes));
    parser_->body_limit(body_bytes);
    parser_->eager(false);
}

RequestParser::~RequestParser() = default;
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;

void RequestParser::refuse(int status, std::string message) {
    if (refusal_.status == 0) refusal_ = {status, std::move(message)};
}

std::size_t RequestParser::parse(std::string_view bytes) {
    std::size_t used = 0;
    while (refusal_.status == 0 && !done() && used < bytes.size()) {
        boost::system::error_code error;
        const std::size_t before = used;
        used += parser_->put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), error);
        if (error == boost::beast::http::error::need_more) {
            if (used > before) continue;
            // The lines around chunks have no limit of their own.
            if (bytes.size() - used > header_bytes_)
                refuse(400, "the chunked body has a line that is too long");
            break;
        }
        if (error == boost::beast::http::error::header_limit)
            refuse(431, fmt::format("the headers are longer than {} bytes", header_bytes_));
        else if (error == boost::beast::http::error::body_limit ||
                 error == boost::beast::http::error::buffer_overflow)
            refuse(413, fmt::format("the body is longer than {} bytes", body_bytes_));
        else if (error == boost::beast::http::error::bad_version)
            refuse(505, "this server speaks HTTP/1.1 and HTTP/1.0");
        else if (error)
            refuse(400, fmt::format("malformed HTTP request: {}", error.message()));
        if (refusal_.status == 0 && !head_done_ && parser_->is_header_done()) {
            head_done_ = true;
            read_head();
            break;
        }
    }
    return used;
}

void RequestParser::read_head() {
    const auto& message = parser_->get();
    request_.method = text_of(message.method_string());
    for (const auto& field : message)
        request_.headers.push_back({text_of(field.name_string()), text_of(field.value())});
    const std::string target = text_of(message.target());
    const std::string_view local = without_origin(target);
    const std::size_t question = local.find('?');
    if (question != std::string_view::npos) request_.query = local.substr(question + 1);
    auto path = percent_decoded(local.substr(0, question));
    if (!path || !(path->starts_with('/') || *path == "*")) return refuse(400, "malformed request target");
    request_.path = std::move(*path);

    const auto count = [&](std::string_view name) {
        return std::ranges::count_if(request_.headers,
                                     [&](const Header& each) { return same_ignoring_case(each.name, name); });
    };
    const auto hosts = count("Host");
    if (hosts > 1 || (hosts == 0 && chunks())) return refuse(400, "a request has exactly one Host header");
    if (count("Transfer-Encoding") > 0) {
        // What another server on the way might read differently is refused (request smuggling).
        if (!chunks()) return refuse(400, "HTTP/1.0 has no Transfer-Encoding");
        if (!same_ignoring_case(request_.header("Transfer-Encoding"), "chunked"))
            return refuse(501, "the only supported Transfer-Encoding is chunked");
    }
    if (count("Content-Encoding") > 0 && !same_ignoring_case(request_.header("Content-Encoding"), "identity"))
        return refuse(415, "compressed bodies are not supported: send it without Content-Encoding");
}

bool RequestParser::begun() const {
    return parser_->got_some();
}

bool RequestParser::head_done() const {
    return head_done_;
}

bool RequestParser::done() const {
    return head_done_ && parser_->is_done();
}

bool RequestParser::keep_alive() const {
    return parser_->keep_alive();
}

bool RequestParser::chunks() const {
    return parser_->get().version() >= 11;
}

bool RequestParser::expects_continue() const {
    return chunks() && same_ignoring_case(request_.header("Expect"), "100-continue");
}

Request RequestParser::take() {
    request_.body = std::move(parser_->get().body());
    return std::move(request_);
}

}  // namespace voltpile::http
