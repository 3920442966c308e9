// Where the questions of a chat come from and its answers go: a terminal, or pipes and files.
#pragma once

#include <optional>
#include <string>

namespace voltpile::cli {

class ChatTerminal {
  public:
    virtual ~ChatTerminal() = default;

    virtual bool interactive() const = 0;  // a person types the questions

    // Returns the next line that is not blank; nothing at the end of input or for /exit. Rejects, with a
    // remark, a typed line that the terminal may have cut.
    virtual std::optional<std::string> question() = 0;

    virtual void answer(const std::string& text) = 0;  // a piece of the text, printed at once
    void end_of_answer() { answer("\n"); }
    virtual void line(const std::string& text) = 0;    // JSON, in place of the answer
    virtual void remark(const std::string& text) = 0;  // on stderr, dim on a terminal
};

// The terminal, or the pipes, of this process.
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
