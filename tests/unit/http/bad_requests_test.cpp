// What no well-behaved client sends: each gets its status, and others are not disturbed.
#include <string>
#include <vector>

#include "server_fixture.h"

namespace voltpile::http {
namespace {

using namespace std::chrono_literals;

class BadRequests : public ServerFixture {};

const std::string kHost = "Host: test\r\n";

struct BadRequest {
    std::string name, bytes;
    int status;
};

std::vector<BadRequest> bad_requests() {
    const std::string post = "POST /echo HTTP/1.1\r\n" + kHost;
    const std::string get = "GET /hello HTTP/1.1\r\n";
    return {
        {"no HTTP", "nonsense\r\n\r\n", 400},
        {"a TLS handshake", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15), 400},
        {"no version", "GET /hello\r\n\r\n", 400},
        {"HTTP/2.0", "GET /hello HTTP/2.0\r\n" + kHost + "\r\n", 505},
        {"a header without colon", get + kHost + "nocolon\r\n\r\n", 400},
        {"a space before the colon", get + kHost + "X : y\r\n\r\n", 400},
        {"a NUL in a header", get + kHost + std::string("X: a\0b\r\n\r\n", 11), 400},
        {"no Host", get + "\r\n", 400},
        {"two Hosts", get + kHost + kHost + "\r\n", 400},
        {"a broken escape", "GET /%zz HTTP/1.1\r\n" + kHost + "\r\n", 400},
        {"an escaped NUL", "GET /hello%00 HTTP/1.1\r\n" + kHost + "\r\n", 400},
        {"a relative target", "GET hello HTTP/1.1\r\n" + kHost + "\r\n", 400},
        {"100,000 characters in a header", get + kHost + "X: " + std::string(100'000, 'x') + "\r\n\r\n", 431},
        {"100,000 characters in the path",
         "GET /" + std::string(100'000, 'x') + " HTTP/1.1\r\n" + kHost + "\r\n", 431},
        {"a negative length", post + "Content-Length: -1\r\n\r\n", 400},
        {"a length beyond 64 bits", post + "Content-Length: 99999999999999999999\r\n\r\n", 400},
        {"a length that is no number", post + "Content-Length: ten\r\n\r\n", 400},
        {"two lengths", post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
        {"a length and chunks", post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         400},
        {"chunks and a length", post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
         400},
        {"chunks in HTTP/1.0", "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        {"an unknown coding", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
        {"a compressed body", post + "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", 415},
        {"a chunk without size", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
        {"an endless chunk size", post + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(100'000, 'x'),
         400},
        {"a body beyond the limit", post + "Content-Length: 100001\r\n\r\n", 413},
        {"chunks beyond the limit", post + "Transfer-Encoding: chunked\r\n\r\nfffff\r\n", 413},
    };
}

TEST_F(BadRequests, GetTheirStatusAndDisturbNobody) {
    ServerSettings settings;
    settings.body_bytes = 100'000;
    serve(settings);
    RawClient other = client();
    std::int64_t refused = 0;
    for (const BadRequest& bad : bad_requests()) {
        SCOPED_TRACE(bad.name);
        RawClient one = client();
        one.send(bad.bytes);
        const RawResponse response = one.response();
        EXPECT_EQ(response.status, bad.status) << response.body;
        EXPECT_FALSE(response.body.empty());
        EXPECT_EQ(server_->counters().refused, ++refused);
        EXPECT_EQ(other.get("/hello").body, "hello");
    }
    EXPECT_EQ(other.post("/echo", std::string(100'000, 'y')).body.size(), 100'000U);
}

TEST_F(BadRequests, CutOffRequestsAreNamed) {
    serve();
    for (const std::string request :
         {"GET /hello HTTP/1.1\r\nHo", "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nabc"}) {
        RawClient one = client();
        one.send(request);
        one.end_sending();
        EXPECT_EQ(one.response().status, 400);
    }
}

TEST_F(BadRequests, SlowHeadersAndBodiesTimeOut) {
    ServerSettings settings;
    settings.header_time = settings.body_time = 50ms;
    serve(settings);
    for (const std::string request :
         {"GET /hello HTTP/1.1\r\n", "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nabc"}) {
        RawClient one = client();
        one.send(request);
        EXPECT_EQ(one.response().status, 408);
        EXPECT_TRUE(one.closed_by_server());
    }
}

TEST_F(BadRequests, IdleConnectionsAreClosed) {
    ServerSettings settings;
    settings.idle_time = 50ms;
    serve(settings);
    RawClient one = client();
    EXPECT_EQ(one.get("/hello").status, 200);
    EXPECT_TRUE(one.closed_by_server());
}

TEST_F(BadRequests, ConnectionsBeyondTheLimitGet503) {
    ServerSettings settings;
    settings.connections = 2;
    serve(settings);
    RawClient one = client(), two = client();
    EXPECT_EQ(one.get("/hello").status, 200);
    EXPECT_EQ(two.get("/hello").status, 200);
    {
        RawClient three = client();
        EXPECT_EQ(three.get("/hello").status, 503);
        EXPECT_EQ(server_->counters().over_limit, 1);
    }
    EXPECT_EQ(one.get("/hello").status, 200);
    two.close();
    while (server_->counters().connections > 1) std::this_thread::yield();
    EXPECT_EQ(client().get("/hello").status, 200);
}

TEST_F(BadRequests, HandlersThatFailAnswer500) {
    serve();
    for (const std::string path : {"/lost", "/throws"}) {
        RawClient one = client();
        EXPECT_EQ(one.get(path).status, 500);
    }
}

TEST_F(BadRequests, AnswersInTheFormOfTheSettings) {
    ServerSettings settings;
    settings.refusal = [](const Refused& refused) {
        Response response;
        response.body = std::to_string(refused.status) + "|" + std::string(refused.message) + "|" +
                        std::string(refused.path) + "|" + std::string(refused.peer) + "|" +
                        std::string(refused.id);
        return response;
    };
    serve(settings);
    RawClient one = client();
    EXPECT_EQ(one.get("/nothing", "X-Request-Id: mine\r\n").body,
              "404|there is no /nothing|/nothing|127.0.0.1|mine");
    one.send("nonsense\r\n\r\n");
    EXPECT_TRUE(one.response().body.ends_with("||127.0.0.1|"));
}

}  // namespace
}  // namespace voltpile::http
