// The terminal of rank 0, to which alone launchers give one, for a chat that another rank leads: that of a
// machine where rank 0 is in no team.
#pragma once

#include "cli/chat_terminal.h"
#include "comm/mpi/communicator.h"

namespace voltpile::cli {

// On the rank that leads. Throws CommError.
class FarTerminal final : public ChatTerminal {
  public:
    explicit FarTerminal(const Communicator& world);
    ~FarTerminal() override;  // rank 0 need not serve any more
    FarTerminal(const FarTerminal&) = delete;
    FarTerminal& operator=(const FarTerminal&) = delete;

    bool interactive() const override { return interactive_; }
    std::optional<std::string> question() override;
    void answer(const std::string& text) override;
    void line(const std::string& text) override;
    void remark(const std::string& text) override;

  private:
    std::string ask(char mark) const;

    const Communicator& world_;
    bool interactive_;
};

// On rank 0, meanwhile; asleep while there is nothing to do.
void serve_far_terminal(const Communicator& world, ChatTerminal& terminal);

}  // namespace voltpile::cli
