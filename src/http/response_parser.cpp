#include "http/response_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <limits>
#include <utility>

namespace voltpile::http {
namespace {

constexpr std::uint32_t longest_head = 64 << 10;

}  // namespace

struct ResponseParser::Parser : boost::beast::http::response_parser<boost::beast::http::string_body> {};

ResponseParser::ResponseParser() : parser_(std::make_unique<Parser>()) {
    parser_->header_limit(longest_head);
    // Not boost::none: Boost 1.74 takes it for less than any length.
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
    parser_->eager(true);
}

ResponseParser::~ResponseParser() = default;

std::size_t ResponseParser::parse(std::string_view bytes) {
    std::size_t used = 0;
    while (error_.empty() && !done() && used < bytes.size()) {
        boost::system::error_code error;
        const std::size_t now =
            parser_->put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), error);
        used += now;
        if (error == boost::beast::http::error::need_more) {
            if (now == 0) break;
        } else if (error) {
            error_ = "the response is not HTTP: " + error.message();
        }
    }
    return used;
}

void ResponseParser::end_of_stream() {
    if (done() || !error_.empty()) return;
    boost::system::error_code error;
    if (parser_->got_some()) parser_->put_eof(error);
    if (error || !done()) error_ = "the server closed the connection before the response was complete";
}

bool ResponseParser::head_done() const {
    return parser_->is_header_done();
}

bool ResponseParser::done() const {
    return parser_->is_done();
}

std::string ResponseParser::take_body() {
    return std::exchange(parser_->get().body(), {});
}

int ResponseParser::status() const {
    return static_cast<int>(parser_->get().result_int());
}

std::string ResponseParser::header(std::string_view name) const {
    const auto value = parser_->get()[boost::beast::string_view(name.data(), name.size())];
    return {value.data(), value.size()};
}

bool ResponseParser::keep_alive() const {
    return parser_->keep_alive();
}

}  // namespace voltpile::http
