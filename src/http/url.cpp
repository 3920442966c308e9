#include "http/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace voltpile::http {
namespace {

constexpr int plain_port = 80, tls_port = 443;

// Returns -1 if it is no port.
int port_of(std::string_view text) {
    int port = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535 ? port : -1;
}

}  // namespace

Url Url::parse(std::string_view text) {
    const auto fail = [&](std::string_view why) -> JobError {
        return JobError(fmt::format("{} is not the URL of a server: {}; write http://HOST:PORT", text, why));
    };
    Url url;
    std::string_view rest = text;
    if (rest.starts_with("https://")) {
        url.tls = true;
        rest.remove_prefix(8);
    } else if (rest.starts_with("http://")) {
        rest.remove_prefix(7);
    } else {
        throw fail("it begins with neither http:// nor https://");
    }
    if (!std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f; }))
        throw fail("it has a character that is not allowed");
    const std::size_t slash = std::min(rest.find_first_of("/?#"), rest.size());
    url.path = rest.substr(slash);
    if (url.path.find_first_of("?#") != std::string::npos) throw fail("it has a query or a fragment");
    std::string_view authority = rest.substr(0, slash);
    if (authority.find('@') != std::string_view::npos) throw fail("it has a user name");
    url.port = url.tls ? tls_port : plain_port;
    std::size_t end = authority.find(':');  // of the host
    if (authority.starts_with('[')) {
        const std::size_t bracket = authority.find(']');
        if (bracket == std::string_view::npos) throw fail("the bracket is not closed");
        url.host = authority.substr(1, bracket - 1);
        end = bracket + 1 < authority.size() ? bracket + 1 : std::string_view::npos;
    } else {
        url.host = authority.substr(0, end);
    }
    if (url.host.empty()) throw fail("it has no host");
    if (end == std::string_view::npos) return url;
    url.port = authority[end] == ':' ? port_of(authority.substr(end + 1)) : -1;
    if (url.port < 0) throw fail("the port must be a number from 1 to 65535");
    return url;
}

std::string Url::authority() const {
    const bool v6 = host.find(':') != std::string::npos;
    return fmt::format("{}{}{}:{}", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

std::string Url::text() const {
    return fmt::format("{}://{}{}", tls ? "https" : "http", authority(), path);
}

}  // namespace voltpile::http
