#include "http/server.h"

#include <thread>
#include <vector>

#include "base/error.h"
#include "server_fixture.h"

namespace voltpile::http {
namespace {

class HttpServer : public ServerFixture {};

TEST_F(HttpServer, AnswersManyRequestsOnOneConnection) {
    serve();
    RawClient one = client();
    for (int i = 0; i < 3; ++i) {
        const RawResponse response = one.get("/hello");
        EXPECT_EQ(response.status, 200);
        EXPECT_EQ(response.body, "hello");
        EXPECT_EQ(response.header("Connection"), "keep-alive");
    }
    EXPECT_EQ(one.post("/echo", "some words").body, "some words");
    EXPECT_EQ(server_->counters().accepted, 1);
}

TEST_F(HttpServer, AnswersRequestsThatArriveTogetherInOrder) {
    serve();
    RawClient one = client();
    const std::string host = " HTTP/1.1\r\nHost: test\r\n";
    one.send("GET /files/a" + host + "\r\nGET /nothing" + host + "\r\nPOST /echo" + host +
             "Content-Length: 1\r\n\r\nbGET /files/c" + host + "\r\n");
    EXPECT_EQ(one.response().body, "/files/a");
    EXPECT_EQ(one.response().status, 404);
    EXPECT_EQ(one.response().body, "b");
    EXPECT_EQ(one.response().body, "/files/c");
}

TEST_F(HttpServer, AnswersHeadWithoutBody) {
    serve();
    RawClient one = client();
    one.send("HEAD /hello HTTP/1.1\r\nHost: test\r\n\r\n");
    const RawResponse response = one.response(true);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.header("Content-Length"), "5");
    EXPECT_EQ(one.get("/hello").body, "hello");
}

TEST_F(HttpServer, NamesUnknownPathsAndMethods) {
    serve();
    RawClient one = client();
    EXPECT_EQ(one.get("/nothing").status, 404);
    EXPECT_EQ(one.get("/").status, 404);
    EXPECT_EQ(one.get("/files/").status, 404);
    EXPECT_EQ(one.get("/files/a%2Fb%20c?x=1").body, "/files/a/b c");
    const RawResponse wrong = one.get("/echo");
    EXPECT_EQ(wrong.status, 405);
    EXPECT_EQ(wrong.header("Allow"), "POST");
    EXPECT_EQ(one.post("/hello", "").header("Allow"), "GET, HEAD");
}

TEST_F(HttpServer, TakesChunkedBodiesAndExpectContinue) {
    serve();
    RawClient one = client();
    one.send(
        "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: "
        "chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n");
    EXPECT_EQ(one.response().body, "abcdefg");
    one.send("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(one.response().status, 100);
    one.send("hi");
    EXPECT_EQ(one.response().body, "hi");
}

TEST_F(HttpServer, ClosesAfterHttp10AndConnectionClose) {
    serve();
    for (const std::string request :
         {"GET /hello HTTP/1.0\r\n\r\n", "GET /hello HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"}) {
        RawClient one = client();
        one.send(request);
        EXPECT_EQ(one.response().body, "hello");
        EXPECT_TRUE(one.closed_by_server());
    }
}

TEST_F(HttpServer, ReturnsUsableRequestIdsAndMakesOthers) {
    serve();
    RawClient one = client();
    EXPECT_EQ(one.get("/hello", "X-Request-Id: job-7.a\r\n").header("X-Request-Id"), "job-7.a");
    const std::string made = one.get("/hello", "X-Request-Id: two words\r\n").header("X-Request-Id");
    EXPECT_FALSE(made.empty());
    EXPECT_NE(made, "two words");
    EXPECT_NE(one.get("/hello").header("X-Request-Id"), made);
}

TEST_F(HttpServer, LetsOnlyListedOriginsRead) {
    ServerSettings settings;
    settings.cors_origins = {"https://chat.example"};
    serve(settings);
    RawClient one = client();
    EXPECT_EQ(one.get("/hello", "Origin: https://chat.example\r\n").header("Access-Control-Allow-Origin"),
              "https://chat.example");
    EXPECT_EQ(one.get("/hello", "Origin: https://evil.example\r\n").header("Access-Control-Allow-Origin"),
              "");
    const std::string preflight =
        "OPTIONS /echo HTTP/1.1\r\nHost: t\r\nAccess-Control-Request-Method: POST\r\nOrigin: https://";
    one.send(preflight + "chat.example\r\n\r\n");
    const RawResponse allowed = one.response();
    EXPECT_EQ(allowed.status, 204);
    EXPECT_NE(allowed.header("Access-Control-Allow-Headers").find("Authorization"), std::string::npos);
    one.send(preflight + "evil.example\r\n\r\n");
    EXPECT_EQ(one.response().status, 405);
}

TEST_F(HttpServer, RefusesBeforeTheBodyArrives) {
    ServerSettings settings;
    settings.admit = [](const Request& request) -> std::optional<Response> {
        if (request.header("Authorization") == "Bearer right") return std::nullopt;
        Response response = text_response("no");
        response.status = 401;
        return response;
    };
    serve(settings);
    RawClient one = client();
    one.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n");
    EXPECT_EQ(one.response().status, 401);
    RawClient two = client();
    EXPECT_EQ(two.post("/echo", "x", "authorization: Bearer right\r\n").body, "x");
}

TEST_F(HttpServer, AnswersFor500ConnectionsAtOnce) {
    serve();
    std::vector<RawClient> clients;
    for (int i = 0; i < 500; ++i) clients.push_back(client());
    for (RawClient& each : clients) each.send("GET /held HTTP/1.1\r\nHost: t\r\n\r\n");
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 250; ++i) held_.take().send(text_response("done"));
        });
    for (RawClient& each : clients) EXPECT_EQ(each.response().body, "done");
    EXPECT_EQ(server_->counters().connections, 500);
}

TEST_F(HttpServer, StopFinishesWhatRuns) {
    serve();
    RawClient idle = client(), running = client();
    EXPECT_EQ(idle.get("/hello").status, 200);
    running.send("GET /held HTTP/1.1\r\nHost: t\r\n\r\n");
    Reply reply = held_.take();
    std::jthread stopping([&] { server_->stop(std::chrono::minutes(1)); });
    EXPECT_TRUE(idle.closed_by_server());
    reply.send(text_response("done"));
    const RawResponse last = running.response();
    EXPECT_EQ(last.body, "done");
    EXPECT_EQ(last.header("Connection"), "close");
    running.close();
    stopping.join();
    EXPECT_FALSE(client().connected());
}

TEST_F(HttpServer, StopDropsWhatRunsTooLong) {
    serve();
    RawClient running = client();
    running.send("GET /held HTTP/1.1\r\nHost: t\r\n\r\n");
    Reply reply = held_.take();
    Countdown gone(1);
    reply.on_gone([&] { gone.count(); });
    server_->stop(std::chrono::milliseconds(1));
    gone.wait();
    EXPECT_TRUE(reply.gone());
    EXPECT_TRUE(running.closed_by_server());
    server_.reset();
    reply.send(text_response("too late"));
}

TEST_F(HttpServer, NamesAddressesItCannotListenOn) {
    serve();
    ServerSettings settings;
    settings.port = server_->port();
    try {
        const Server second(settings, Router());
        FAIL() << "two servers on one port";
    } catch (const MachineError& error) {
        EXPECT_EQ(error.what(),
                  "cannot listen on 127.0.0.1:" + std::to_string(settings.port) + ": Address already in use");
    }
    settings.host = "no.such.host.invalid";
    EXPECT_THROW(Server(settings, Router()), JobError);
}

}  // namespace
}  // namespace voltpile::http
