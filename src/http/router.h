// Finds the handler of a request by its path and method.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "http/message.h"
#include "http/reply.h"

namespace voltpile::http {

// Called in the server's thread: must not wait for anything. An exception answers 500.
using Handler = std::function<void(Request, Reply)>;

class Router {
  public:
    // path: "/health", or "/v1/models/*" for all paths that begin with "/v1/models/". GET also answers HEAD.
    void add(std::string method, std::string path, Handler handler);

    struct Route {
        const Handler* handler = nullptr;  // nullptr: no such path, or not this method
        std::string allowed;               // methods of the path: "GET, HEAD"; empty if there is no such path
    };
    // The handler is valid as long as the router is.
    Route find(std::string_view method, std::string_view path) const;

  private:
    std::map<std::string, std::map<std::string, Handler>, std::less<>> handlers_;  // by path, by method
};

}  // namespace voltpile::http
