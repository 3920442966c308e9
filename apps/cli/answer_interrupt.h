// Catches Ctrl-C during an answer: the first SIGINT in the life of an AnswerInterrupt is only noted, the
// second one ends the program.
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
    struct sigaction before_ {};
};

}  // namespace voltpile::cli
