// Boost.Asio's side of an EventLoop. Only .cpp files of this folder include it, because Boost's headers are
// heavy.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "http/event_loop.h"

namespace voltpile::http {

struct EventLoop::Context {
    boost::asio::io_context io{1};  // one thread runs it
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
};

}  // namespace voltpile::http
