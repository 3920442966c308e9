#include "http/router.h"

#include <utility>

namespace voltpile::http {

void Router::add(std::string method, std::string path, Handler handler) {
    handlers_[std::move(path)][std::move(method)] = std::move(handler);
}

Router::Route Router::find(std::string_view method, std::string_view path) const {
    auto methods = handlers_.find(path);
    for (std::size_t slash = path.rfind('/');
         methods == handlers_.end() && slash != std::string_view::npos && slash > 0;
         slash = path.rfind('/', slash - 1))
        if (slash + 1 < path.size()) methods = handlers_.find(std::string(path.substr(0, slash)) + "/*");
    if (methods == handlers_.end()) return {};
    Route route;
    const std::string_view wanted = method == "HEAD" ? "GET" : method;
    for (const auto& [name, handler] : methods->second) {
        if (!route.allowed.empty()) route.allowed += ", ";
        route.allowed += name == "GET" ? "GET, HEAD" : name;
        if (name == wanted) route.handler = &handler;
    }
    return route;
}

}  // namespace voltpile::http
