// Where a chat's questions come from and its answers go: a terminal, or pipes and files.
#pragma once

#include <optional>
#include <string>

namespace voltpile::cli {

class ChatTerminal {
  public:
    explicit ChatTerminal(bool json);

    bool interactive() const { return interactive_; }  // somebody types the questions

    // The next line that is not blank; nothing at the end of input, or for /exit. One that the terminal may
    // have cut is refused here.
    std::optional<std::string> question();

    void answer(const std::string& text);  // a piece of it
    void end_of_answer();
    void line(const std::string& text);    // for programs, in place of the answer
    void remark(const std::string& text);  // on stderr, dim on a terminal

  private:
    bool json_;
    bool interactive_;
    bool dim_;
};

}  // namespace voltpile::cli
