#include "http/message.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <iterator>

namespace voltpile::http {
namespace {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

bool same_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(
        a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view Request::header(std::string_view name) const {
    const auto found = std::ranges::find_if(
        headers, [&](const Header& each) { return same_ignoring_case(each.name, name); });
    return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

std::string_view reason_phrase(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 204:
            return "No Content";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 408:
            return "Request Timeout";
        case 413:
            return "Content Too Large";
        case 415:
            return "Unsupported Media Type";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 501:
            return "Not Implemented";
        case 503:
            return "Service Unavailable";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return "Status";
    }
}

std::string head_text(const Response& response, Framing framing, bool keep_alive, std::string_view id,
                      const std::vector<Header>& more) {
    std::string head =
        fmt::format("HTTP/1.1 {} {}\r\nDate: {:%a, %d %b %Y %H:%M:%S} GMT\r\n", response.status,
                    reason_phrase(response.status), fmt::gmtime(std::time(nullptr)));
    const auto add = [&](std::string_view name, std::string_view value) {
        fmt::format_to(std::back_inserter(head), "{}: {}\r\n", name, value);
    };
    if (!response.content_type.empty()) add("Content-Type", response.content_type);
    if (framing == Framing::Length && response.status != 204)
        add("Content-Length", std::to_string(response.body.size()));
    if (framing == Framing::Chunked) add("Transfer-Encoding", "chunked");
    add("Connection", keep_alive ? "keep-alive" : "close");
    if (!id.empty()) add("X-Request-Id", id);
    for (const Header& each : response.headers) add(each.name, each.value);
    for (const Header& each : more) add(each.name, each.value);
    return head + "\r\n";
}

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '%') {
            const int high = text.size() - i > 2 ? hex_digit(text[i + 1]) : -1;
            const int low = high < 0 ? -1 : hex_digit(text[i + 2]);
            if (low < 0) return std::nullopt;
            c = static_cast<char>(high * 16 + low);
            i += 2;
        }
        if (c == '\0') return std::nullopt;
        decoded += c;
    }
    return decoded;
}

}  // namespace voltpile::http
