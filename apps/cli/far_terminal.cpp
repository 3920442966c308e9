#include "cli/far_terminal.h"

#include <spdlog/spdlog.h>

#include "base/error.h"
#include "comm/mpi/message_tags.h"

namespace voltpile::cli {
namespace {

// Requests to rank 0: a mark, followed by a text.
constexpr char interactive_mark = 'I', question_mark = 'Q', answer_mark = 'A', line_mark = 'L',
               remark_mark = 'R', end_mark = 'E';
// Replies from rank 0.
const std::string yes = "Y", no = "N";  // no, in reply to question_mark: the input has ended
constexpr char text_mark = 'T';

}  // namespace

FarTerminal::FarTerminal(const Communicator& world)
    : world_(world), interactive_(ask(interactive_mark) == yes) {}

FarTerminal::~FarTerminal() {
    try {
        world_.send(0, kTerminalRequestTag, {end_mark});
    } catch (const CommError& error) {
        spdlog::debug("{}", error.what());  // the rank that failed reports itself
    }
}

std::string FarTerminal::ask(char mark) const {
    world_.send(0, kTerminalRequestTag, {mark});
    return world_.wait_for(kTerminalReplyTag).bytes;
}

std::optional<std::string> FarTerminal::question() {
    const std::string reply = ask(question_mark);
    if (reply == no) return std::nullopt;
    return reply.substr(1);
}

void FarTerminal::answer(const std::string& text) {
    world_.send(0, kTerminalRequestTag, answer_mark + text);
}

void FarTerminal::line(const std::string& text) {
    world_.send(0, kTerminalRequestTag, line_mark + text);
}

void FarTerminal::remark(const std::string& text) {
    world_.send(0, kTerminalRequestTag, remark_mark + text);
}

void serve_far_terminal(const Communicator& world, ChatTerminal& terminal) {
    for (;;) {
        const Message request = world.wait_for(kTerminalRequestTag);
        const std::string text = request.bytes.substr(1);
        switch (request.bytes.front()) {
            case interactive_mark:
                world.send(request.from, kTerminalReplyTag, terminal.interactive() ? yes : no);
                break;
            case question_mark: {
                const auto question = terminal.question();
                world.send(request.from, kTerminalReplyTag, question ? text_mark + *question : no);
                break;
            }
            case answer_mark:
                terminal.answer(text);
                break;
            case line_mark:
                terminal.line(text);
                break;
            case remark_mark:
                terminal.remark(text);
                break;
            default:
                return;
        }
    }
}

}  // namespace voltpile::cli
