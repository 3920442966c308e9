// Responses that come piece by piece from other threads.
#include <string>
#include <thread>
#include <vector>

#include "server_fixture.h"

namespace voltpile::http {
namespace {

using namespace std::chrono_literals;

class StreamedResponses : public ServerFixture {
  protected:
    Reply hold(RawClient& one, const std::string& version = "1.1") {
        one.send("GET /held HTTP/" + version + "\r\nHost: t\r\n\r\n");
        Reply reply = held_.take();
        return reply;
    }
};

TEST_F(StreamedResponses, ArrivePieceByPiece) {
    serve();
    RawClient one = client();
    Reply reply = hold(one);
    reply.begin({200, "text/event-stream", "", {}});
    EXPECT_NE(one.read_until("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
    for (const std::string piece : {"one", "two"}) {
        EXPECT_TRUE(reply.write(piece));
        EXPECT_EQ(one.read_until("\r\n"), "3\r\n");
        EXPECT_EQ(one.read_until("\r\n"), piece + "\r\n");
    }
    reply.end();
    EXPECT_EQ(one.read_until("\r\n\r\n"), "0\r\n\r\n");
    EXPECT_EQ(one.get("/hello").body, "hello");
}

TEST_F(StreamedResponses, EndWithTheConnectionInHttp10) {
    serve();
    RawClient one = client();
    Reply reply = hold(one, "1.0");
    reply.begin({200, "text/plain", "", {}});
    reply.write("all of it");
    reply.end();
    EXPECT_EQ(one.response().body, "all of it");
}

TEST_F(StreamedResponses, NoticeAtOnceThatTheClientIsGone) {
    serve();
    for (const bool streaming : {false, true}) {
        RawClient one = client();
        Reply reply = hold(one);
        Countdown gone(1);
        reply.on_gone([&] { gone.count(); });
        if (streaming) {
            reply.begin({200, "text/event-stream", "", {}});
            one.read_until("\r\n\r\n");
        }
        EXPECT_FALSE(reply.gone());
        one.close();
        gone.wait();  // although nothing is written
        EXPECT_FALSE(reply.write("more"));
        Countdown again(1);
        reply.on_gone([&] { again.count(); });
        again.wait();
    }
}

TEST_F(StreamedResponses, BreakIfTheHandlerGivesUp) {
    serve();
    RawClient one = client();
    {
        Reply reply = hold(one);
        reply.begin({200, "text/event-stream", "", {}});
        reply.write("half");
    }
    EXPECT_TRUE(one.closed_by_server());
}

// As if a handler's state, which holds the reply, were in the callback.
TEST_F(StreamedResponses, MayBeOwnedByTheirCallback) {
    serve();
    for (const bool gone : {false, true}) {
        RawClient one = client();
        auto reply = std::make_shared<Reply>(hold(one));
        reply->on_gone([reply] {});
        if (gone) {
            one.close();
            while (!reply->gone()) std::this_thread::yield();
            continue;
        }
        Reply& last = *reply;
        last.begin({200, "text/plain", "", {}});
        last.write("all");
        reply.reset();
        last.end();
        EXPECT_EQ(one.response().body, "all");
    }
}

// The slow client reads nothing; another one gets all of its pieces meanwhile.
TEST_F(StreamedResponses, DropSlowClientsAndDelayNobody) {
    ServerSettings settings;
    settings.stream_bytes = 64 << 10;
    settings.send_buffer = 16 << 10;
    serve(settings);
    RawClient slow = client(4096), fast = client();
    Reply to_slow = hold(slow), to_fast = hold(fast);
    Countdown gone(1);
    to_slow.on_gone([&] { gone.count(); });
    to_slow.begin({200, "text/event-stream", "", {}});
    to_fast.begin({200, "text/event-stream", "", {}});
    const std::string piece(1000, 'x');
    fast.read_until("\r\n\r\n");
    int written = 0;
    while (to_slow.write(piece)) {
        ++written;
        ASSERT_TRUE(to_fast.write("tick"));
        fast.read_until("tick");
        ASSERT_LT(written, 100'000);
    }
    gone.wait();
    EXPECT_GE(written, 64);
    EXPECT_EQ(server_->counters().slow_clients, 1);
    to_fast.write("last");
    fast.read_until("last");
    to_fast.end();
    EXPECT_EQ(fast.read_until("\r\n\r\n").substr(0, 2), "\r\n");
}

TEST_F(StreamedResponses, DropClientsThatTakeNothing) {
    ServerSettings settings;
    settings.stall_time = 50ms;
    settings.send_buffer = 16 << 10;
    serve(settings);
    RawClient stalled = client(4096);
    Reply reply = hold(stalled);
    Countdown gone(1);
    reply.on_gone([&] { gone.count(); });
    reply.begin({200, "text/event-stream", "", {}});
    reply.write(std::string(900'000, 'x'));
    gone.wait();
    EXPECT_EQ(server_->counters().slow_clients, 1);
}

// Every stream gets its own pieces, complete and in order, written by several threads.
TEST_F(StreamedResponses, AreNotMixedUp) {
    constexpr int streams = 200, pieces = 50;
    serve();
    std::vector<RawClient> clients;
    for (int i = 0; i < streams; ++i) clients.push_back(client());
    std::vector<Reply> replies;
    for (RawClient& each : clients) replies.push_back(hold(each));
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([&, t] {
            for (int i = t; i < streams; i += 2)
                replies[static_cast<std::size_t>(i)].begin({200, "text/plain", "", {}});
            for (int p = 0; p < pieces; ++p)
                for (int i = t; i < streams; i += 2)
                    replies[static_cast<std::size_t>(i)].write(std::to_string(i) + ":" + std::to_string(p) +
                                                               " ");
            for (int i = t; i < streams; i += 2) replies[static_cast<std::size_t>(i)].end();
        });
    for (int i = 0; i < streams; ++i) {
        std::string expected;
        for (int p = 0; p < pieces; ++p) expected += std::to_string(i) + ":" + std::to_string(p) + " ";
        EXPECT_EQ(clients[static_cast<std::size_t>(i)].response().body, expected);
    }
}

}  // namespace
}  // namespace voltpile::http
