#include "base/standard_streams.h"

#include <fcntl.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include "base/one_line.h"

namespace voltpile {
namespace {

// Keeps SIGPIPE from this thread while it writes. The signal goes to the thread that wrote, so blocking it
// here and taking it back afterwards changes nothing for the rest of the process: `voltpile show | head`
// still ends by SIGPIPE.
class BrokenPipeGuard {
  public:
    BrokenPipeGuard() noexcept {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        sigset_t pending;
        sigemptyset(&pending);
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~BrokenPipeGuard() {
        constexpr timespec now{};
        if (!was_pending_)
            while (sigtimedwait(&pipe_, nullptr, &now) == -1 && errno == EINTR) {
            }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    BrokenPipeGuard(const BrokenPipeGuard&) = delete;
    BrokenPipeGuard& operator=(const BrokenPipeGuard&) = delete;

  private:
    sigset_t pipe_{}, before_{};
    bool was_pending_ = false;
};

// Calls body(character) for what is printed of a message.
template <class Body>
void for_each_printed(std::string_view message, const Body& body) {
    for (std::size_t i = 0; i < message.size();) {
        const char c = message[i];
        const std::size_t obeyed = c == '\n' || c == '\t' ? 0 : obeyed_bytes(message, i);
        body(obeyed > 0 ? '?' : c);
        i += obeyed > 0 ? obeyed : 1;
    }
}

class LogSink final : public spdlog::sinks::stderr_color_sink_mt {
  public:
    void log(const spdlog::details::log_msg& message) override {
        const BrokenPipeGuard guard;
        const std::string text = printed_text({message.payload.data(), message.payload.size()});
        spdlog::details::log_msg printed = message;
        printed.payload = text;
        spdlog::sinks::stderr_color_sink_mt::log(printed);  // ignores what it cannot write
    }
};

}  // namespace

void open_missing_streams() noexcept {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
        // The lowest free number is `stream`, because those below it are open by now.
        (void)!open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    }
}

void print_stderr(std::string_view text) noexcept {
    const BrokenPipeGuard guard;
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

std::string printed_text(std::string_view message) {
    std::string text;
    for_each_printed(message, [&](char c) { text += c; });
    return text;
}

void print_error(std::string_view message) noexcept {
    std::array<char, 8192> line;  // one write, if it is not longer
    std::size_t used = 0;
    for_each_printed(message, [&](char c) {
        line[used++] = c;
        if (used < line.size()) return;
        print_stderr({line.data(), used});
        used = 0;
    });
    line[used++] = '\n';
    print_stderr({line.data(), used});
}

void log_to_stderr() {
    auto logger = std::make_shared<spdlog::logger>("voltpile", std::make_shared<LogSink>());
    logger->set_pattern("%^%l%$: %v");
    logger->set_error_handler([](const std::string&) {});  // the message is lost
    spdlog::set_default_logger(std::move(logger));
}

}  // namespace voltpile
