// While one lives, a Ctrl-C (SIGINT) does not end the program but is noted; a second one ends it.
#pragma once

#include <csignal>

namespace voltpile::cli {

class AnswerInterrupt {
  public:
    AnswerInterrupt();
    ~AnswerInterrupt();
    AnswerInterrupt(const AnswerInterrupt&) = delete;
    AnswerInterrupt& operator=(const AnswerInterrupt&) = delete;

    bool arrived() const;

  private:
    struct sigaction before_{};
};

}  // namespace voltpile::cli
