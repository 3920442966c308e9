// libFuzzer: bytes of a connection are requests or refused, and it does not matter how they are cut into
// pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "http/request_parser.h"

namespace {

using voltpile::http::RequestParser;

constexpr std::size_t header_bytes = 512, body_bytes = 1024;

// What a connection would make of the bytes: one line for each request; the last one may be refused. For
// which of its faults depends on the pieces.
std::vector<std::string> read_all(std::string_view bytes, std::size_t piece) {
    std::vector<std::string> seen;
    RequestParser parser(header_bytes, body_bytes);
    std::string in;
    while (!bytes.empty()) {
        const std::string_view now = bytes.substr(0, piece);
        in += now;
        bytes.remove_prefix(now.size());
        while (!in.empty()) {
            const std::size_t used = parser.parse(in);
            if (used > in.size()) std::abort();
            in.erase(0, used);
            if (parser.refusal().status != 0) {
                seen.push_back("refused");
                return seen;
            }
            if (parser.done()) {
                const voltpile::http::Request request = parser.take();
                std::string line =
                    request.method + " " + request.path + "?" + request.query + " " + request.body;
                for (const auto& header : request.headers) line += "|" + header.name + ":" + header.value;
                seen.push_back(std::move(line));
                parser = RequestParser(header_bytes, body_bytes);
            } else if (used == 0) {
                break;
            }
        }
    }
    return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::vector<std::string> whole = read_all(bytes, std::max<std::size_t>(size, 1));
    const std::vector<std::string> pieces = read_all(bytes, 1);
    // Until one of them is refused: limits and faults may show earlier in other pieces.
    for (std::size_t i = 0; i < std::max(whole.size(), pieces.size()); ++i) {
        const std::string first = i < whole.size() ? whole[i] : "";
        const std::string second = i < pieces.size() ? pieces[i] : "";
        if (first == "refused" || second == "refused") break;
        if (first != second) std::abort();
    }
    return 0;
}
