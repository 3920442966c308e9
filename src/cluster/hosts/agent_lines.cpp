#include "cluster/hosts/agent_lines.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace voltpile {

AgentInput::Event AgentInput::next(std::chrono::milliseconds at_most, std::string& line) {
    while (true) {
        if (const auto end = text_.find('\n'); end != std::string::npos) {
            line = text_.substr(0, end);
            text_.erase(0, end + 1);
            return Event::Line;
        }
        pollfd input{STDIN_FILENO, POLLIN, 0};
        const int ready = poll(&input, 1, static_cast<int>(at_most.count()));
        if (ready == 0 || (ready < 0 && errno == EINTR)) return Event::Silence;
        std::array<char, 4096> buffer;
        const ssize_t n = ready < 0 ? -1 : read(STDIN_FILENO, buffer.data(), buffer.size());
        if (n <= 0) return Event::End;
        text_.append(buffer.data(), static_cast<std::size_t>(n));
    }
}

void send_line(std::string_view prefix, const nlohmann::json& object) {
    fmt::print("{}{}\n", prefix, object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    std::fflush(stdout);
}

}  // namespace voltpile
