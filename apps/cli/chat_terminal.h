// Where a chat's questions come from and its answers go: a terminal, or pipes and files.
#pragma once

#include <optional>
#include <string>

namespace voltpile::cli {

class ChatTerminal {
  public:
    virtual ~ChatTerminal() = default;

    virtual bool interactive() const = 0;  // somebody types the questions

    // The next line that is not blank; nothing at the end of input, or for /exit. One that the terminal may
    // have cut is refused here.
    virtual std::optional<std::string> question() = 0;

    virtual void answer(const std::string& text) = 0;  // a piece of it
    void end_of_answer() { answer("\n"); }
    virtual void line(const std::string& text) = 0;    // for programs, in place of the answer
    virtual void remark(const std::string& text) = 0;  // on stderr, dim on a terminal
};

// This process's.
class OwnTerminal final : public ChatTerminal {
  public:
    explicit OwnTerminal(bool json);

    bool interactive() const override { return interactive_; }
    std::optional<std::string> question() override;
    void answer(const std::string& text) override;
    void line(const std::string& text) override;
    void remark(const std::string& text) override;

  private:
    bool json_;
    bool interactive_;
    bool dim_;
};

}  // namespace voltpile::cli
