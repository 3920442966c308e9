// One client's connection: reads requests one after the other, passes them to handlers, and writes the
// responses.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/event_loop.h"
#include "http/outgoing.h"
#include "http/request_parser.h"
#include "http/router.h"
#include "http/server.h"
#include "http/stream.h"

namespace voltpile::http {

class Connection;

// What all connections of a server share; outlives them. Used in the loop's thread, except for the counters.
struct ConnectionContext {
    EventLoop& loop;
    const ServerSettings& settings;
    const Router& router;
    ServerCounters& counters;
    std::function<void(Connection*)> closed;  // called once for each connection
    std::function<std::string()> new_request_id;
    bool stopping = false;  // connections end with the response they are at
};

// All functions are called in the loop's thread. While a handler works, the connection goes on reading,
// because that is how it notices that the client is gone.
class Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection(ConnectionContext& context, std::unique_ptr<Stream> stream, std::string peer);

    void start();
    void start_refused(int status, std::string message);  // answers whatever comes with this, then closes
    void stop();                                          // ends now if no request is being read or answered
    void drop();                                          // closes at once

  private:
    enum class State { Opening, Waiting, Head, Body, Running, Refusing, Lingering, Closed };

    // connection.cpp: reading
    void open(std::function<void()> then);
    void read();
    void received(std::size_t bytes);
    void ended_by_client();
    void advance();
    bool check_head();  // false: it was answered already
    void dispatch();
    void next_request();

    // connection_write.cpp: writing
    void refuse(int status, std::string_view message, std::vector<Header> headers = {});
    void respond(Response response, bool close);
    void flush();
    void write_out();
    void write_some();
    void written(std::size_t bytes);
    void response_written();
    void linger();
    void drop_slow();
    std::vector<Header> cors_headers() const;
    bool cors_allows(std::string_view origin) const;
    bool answer_preflight(const Request& request);

    ConnectionContext& context_;
    std::unique_ptr<Stream> stream_;
    std::string peer_;
    State state_ = State::Opening;
    Deadline read_deadline_, write_deadline_;

    RequestParser parser_;
    std::array<char, 8192> chunk_;
    std::string in_;  // received and not yet parsed
    bool reading_ = false;
    bool client_ended_ = false;

    // Of the request being answered.
    std::string id_, origin_, path_;
    bool head_checked_ = false;
    bool head_only_ = false, chunks_ = false, keep_alive_ = false;
    const Handler* handler_ = nullptr;
    std::shared_ptr<Outgoing> outgoing_;
    Framing framing_ = Framing::Length;
    bool head_sent_ = false;

    std::string out_, in_flight_;  // to be written; being written
    std::size_t sent_ = 0;         // of in_flight_
    bool writing_ = false;
    bool last_ = false;  // the response is complete in out_ and in_flight_
};

}  // namespace voltpile::http
