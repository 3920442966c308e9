// Requests do not depend on how the network cut them into pieces.
#include "http/request_parser.h"

#include <gtest/gtest.h>

#include <string>

namespace voltpile::http {
namespace {

// Returns the body of the request in `bytes`, or the status of the refusal, when they arrive in three pieces.
std::string read_in_three(const std::string& bytes, std::size_t first, std::size_t second) {
    RequestParser parser(512, 1024);
    std::string in;
    for (const std::string& piece :
         {bytes.substr(0, first), bytes.substr(first, second - first), bytes.substr(second)}) {
        in += piece;
        while (!in.empty() && !parser.done()) {
            const std::size_t used = parser.parse(in);
            in.erase(0, used);
            if (parser.refusal().status != 0) return std::to_string(parser.refusal().status);
            if (used == 0) break;
        }
    }
    return parser.done() ? "body " + parser.take().body : "not done";
}

const std::string kHead = "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n";

void expect_at_every_cut(const std::string& bytes, const std::string& result) {
    for (std::size_t first = 0; first <= bytes.size(); ++first)
        for (std::size_t second = first; second <= bytes.size(); ++second)
            ASSERT_EQ(read_in_three(bytes, first, second), result) << "cut at " << first << " and " << second;
}

TEST(RequestParser, TakesChunksCutAnywhere) {
    expect_at_every_cut(kHead + "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n", "body abcdefg");
}

TEST(RequestParser, TakesAnEmptyChunkedBodyCutAnywhere) {
    expect_at_every_cut(kHead + "0\r\n\r\n", "body ");
}

TEST(RequestParser, RejectsBadTrailersCutAnywhere) {
    expect_at_every_cut(kHead + "0\r\n{}\r\n0\r\n\r\n", "400");
}

}  // namespace
}  // namespace voltpile::http
