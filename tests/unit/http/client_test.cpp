// The client against the server of this program, and against sockets that answer as they like.
#include "http/client.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "server_fixture.h"

namespace voltpile::http {
namespace {

// Accepts connections one after the other, reads a request, and answers with fixed bytes.
class FixedServer {
  public:
    explicit FixedServer(std::string answer, int connections = 1) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address);
        listen(socket_, 8);
        socklen_t length = sizeof address;
        getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
        port_ = ntohs(address.sin_port);
        thread_ = std::jthread([this, answer = std::move(answer), connections] {
            for (int i = 0; i < connections; ++i) {
                const int client = accept(socket_, nullptr, nullptr);
                std::string request;
                char bytes[4096];
                while (request.find("\r\n\r\n") == std::string::npos) {
                    const ssize_t count = recv(client, bytes, sizeof bytes, 0);
                    if (count <= 0) break;
                    request.append(bytes, static_cast<std::size_t>(count));
                }
                send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
                close(client);
            }
        });
    }
    ~FixedServer() {
        thread_.join();
        close(socket_);
    }
    int port() const { return port_; }

  private:
    int socket_, port_ = 0;
    std::jthread thread_;
};

ClientSettings settings_for(int port) {
    ClientSettings settings;
    settings.server = {false, "127.0.0.1", port, ""};
    return settings;
}

// Returns the message of the error that fetch() throws.
std::string failure_of(const ClientSettings& settings) {
    try {
        fetch(settings, {"GET", "/hello", {}, ""});
    } catch (const Error& error) {
        return error.what();
    }
    return "none";
}

class HttpClient : public ServerFixture {};

TEST_F(HttpClient, FetchesWholeResponses) {
    serve();
    const ClientSettings settings = settings_for(server_->port());
    const Fetched hello = fetch(settings, {"GET", "/hello", {}, ""});
    EXPECT_EQ(hello.status, 200);
    EXPECT_EQ(hello.content_type, "text/plain");
    EXPECT_EQ(hello.body, "hello");
    const std::string large(3'000'000, 'x');
    EXPECT_EQ(fetch(settings, {"POST", "/echo", {{"X-Other", "1"}}, large}).body, large);
    EXPECT_EQ(fetch(settings, {"GET", "/nothing", {}, ""}).status, 404);
    ClientSettings by_name = settings;
    by_name.server.host = "localhost";  // ::1 comes first where there is IPv6, and nobody listens there
    EXPECT_EQ(fetch(by_name, {"GET", "/hello", {}, ""}).body, "hello");
}

TEST_F(HttpClient, KeepsConnectionsAndTellsManyRequestsApart) {
    serve();
    constexpr int requests = 600, at_once = 20;
    EventLoop loop;
    Client client(loop, settings_for(server_->port()));
    int sent = 0, ended = 0, right = 0;
    std::function<void()> send_one = [&] {
        const std::string text = "number " + std::to_string(sent++);
        const auto body = std::make_shared<std::string>();
        client.send({"POST", "/echo", {}, text}, {{},
                                                  [body](std::string_view piece) { *body += piece; },
                                                  [&, body, text](const std::string& error) {
                                                      right += error.empty() && *body == text ? 1 : 0;
                                                      if (sent < requests) return ++ended, send_one();
                                                      if (++ended < requests) return;
                                                      client.close();
                                                      loop.finish();
                                                  }});
    };
    loop.post([&] {
        while (sent < at_once) send_one();
    });
    loop.run();
    EXPECT_EQ(right, requests);
    EXPECT_EQ(server_->counters().accepted, at_once);
}

TEST_F(HttpClient, PassesStreamsOnAsTheyArrive) {
    serve();
    EventLoop loop;
    Client client(loop, settings_for(server_->port()));
    std::vector<std::string> pieces;
    std::optional<Reply> reply;
    loop.post([&] {
        client.send({"GET", "/held", {}, ""}, {[&](int status, const std::string&) {
                                                   EXPECT_EQ(status, 200);
                                                   reply->write("one");
                                               },
                                               [&](std::string_view piece) {
                                                   pieces.emplace_back(piece);
                                                   if (pieces.size() == 1) reply->write("two");
                                                   if (pieces.size() == 2) reply->end();
                                               },
                                               [&](const std::string& error) {
                                                   EXPECT_EQ(error, "");
                                                   client.close();
                                                   loop.finish();
                                               }});
    });
    std::jthread handler([&] {
        const auto held = std::make_shared<Reply>(held_.take());
        loop.post([&reply, held] {
            reply.emplace(std::move(*held));
            reply->begin(text_response(""));
        });
    });
    loop.run();
    EXPECT_EQ(pieces, (std::vector<std::string>{"one", "two"}));
}

TEST_F(HttpClient, SendsAgainIfTheServerClosedAnIdleConnection) {
    ServerSettings settings;
    settings.idle_time = std::chrono::milliseconds(1);
    serve(settings);
    EventLoop loop;
    Client client(loop, settings_for(server_->port()));
    int left = 20;
    std::function<void()> send_one = [&] {
        client.send({"GET", "/hello", {}, ""}, {{}, {}, [&](const std::string& error) {
                                                    EXPECT_EQ(error, "");
                                                    if (--left > 0) return send_one();
                                                    client.close();
                                                    loop.finish();
                                                }});
    };
    loop.post(send_one);
    loop.run();
    EXPECT_EQ(left, 0);
}

TEST(HttpClientErrors, NameTheUrlAndTheReason) {
    int free_port = 0;
    {
        const FixedServer closed("", 0);
        free_port = closed.port();
    }
    const std::string url = "GET http://127.0.0.1:";
    EXPECT_EQ(failure_of(settings_for(free_port)),
              url + std::to_string(free_port) + "/hello: cannot connect: Connection refused");
    const auto answered = [&](const std::string& bytes) {
        const FixedServer server(bytes);
        const std::string message = failure_of(settings_for(server.port()));
        const std::string begin = url + std::to_string(server.port()) + "/hello: ";
        EXPECT_TRUE(message.starts_with(begin)) << message;
        return message.substr(std::min(begin.size(), message.size()));
    };
    const std::string closed = "the server closed the connection before the response was complete";
    EXPECT_EQ(answered(""), closed);
    EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nConte"), closed);
    EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhell"), closed);
    EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhell\r\n"), closed);
    EXPECT_TRUE(answered("SSH-2.0-OpenSSH_9.2\r\n").starts_with("the response is not HTTP"));
    ClientSettings unknown = settings_for(1);
    unknown.server.host = "no.such.host.invalid";
    EXPECT_TRUE(failure_of(unknown).starts_with("cannot reach http://no.such.host.invalid:1: "));
}

TEST(HttpClientErrors, ReadsAnAnswerThatEndsWithTheConnection) {
    const FixedServer server("HTTP/1.0 200 OK\r\n\r\nall of it");
    EXPECT_EQ(fetch(settings_for(server.port()), {"GET", "/", {}, ""}).body, "all of it");
}

TEST_F(HttpClient, GivesUpOnSilence) {
    serve();
    ClientSettings settings = settings_for(server_->port());
    settings.silence_time = std::chrono::milliseconds(1000);
    try {
        fetch(settings, {"GET", "/held", {}, ""});
        FAIL();
    } catch (const CommError& error) {
        EXPECT_NE(std::string(error.what()).find("/held: nothing arrived for 1 s"), std::string::npos);
    }
}

TEST(Url, ReadsItsParts) {
    const Url url = Url::parse("https://node7.lab:8443/v1");
    EXPECT_TRUE(url.tls);
    EXPECT_EQ(url.host, "node7.lab");
    EXPECT_EQ(url.port, 8443);
    EXPECT_EQ(url.path, "/v1");
    EXPECT_EQ(Url::parse("http://a").port, 80);
    EXPECT_EQ(Url::parse("https://a/").port, 443);
    EXPECT_EQ(Url::parse("http://[::1]:8000").host, "::1");
    EXPECT_EQ(Url::parse("http://[::1]:8000").authority(), "[::1]:8000");
    EXPECT_EQ(Url::parse("http://a:1/b").text(), "http://a:1/b");
    for (const char* bad : {"", "localhost:8000", "ftp://a", "http://", "http://:80",
                            "http://a:", "http://a:0", "http://a:65536", "http://a:8o", "http://[::1",
                            "http://[::1]80", "http://a b", "http://u:p@a", "http://a?x=1", "http://a\n"})
        EXPECT_THROW(Url::parse(bad), JobError) << bad;
}

}  // namespace
}  // namespace voltpile::http
