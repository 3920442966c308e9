#include "cli/answer_interrupt.h"

namespace voltpile::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;  // global, because a signal handler can reach nothing else

void note(int) {
    interrupted = 1;
}

}  // namespace

AnswerInterrupt::AnswerInterrupt() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = note;
    action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
    sigaction(SIGINT, &action, &before_);
}

AnswerInterrupt::~AnswerInterrupt() {
    sigaction(SIGINT, &before_, nullptr);
}

bool AnswerInterrupt::arrived() const {
    return interrupted != 0;
}

}  // namespace voltpile::cli
