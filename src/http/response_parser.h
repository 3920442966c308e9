// Parses a response from bytes as they arrive (Boost.Beast).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace voltpile::http {

class ResponseParser {
  public:
    ResponseParser();
    ~ResponseParser();

    // Parses what it can and returns how many bytes it used; pass the rest again, with more after it.
    std::size_t parse(std::string_view bytes);
    // The server has closed its side.
    void end_of_stream();

    bool head_done() const;
    bool done() const;  // the response is complete
    // What is wrong with the response; empty: nothing.
    const std::string& error() const { return error_; }

    // Returns what has arrived of the body since the last call.
    std::string take_body();

    // After the head:
    int status() const;
    std::string header(std::string_view name) const;  // empty if there is none
    bool keep_alive() const;

  private:
    struct Parser;
    std::unique_ptr<Parser> parser_;
    std::string error_;
};

}  // namespace voltpile::http
