// Lets another rank use the terminal of rank 0, the only rank to which launchers give one. Needed where rank
// 0 is in no team, so that another rank leads the chat.
#pragma once

#include "cli/chat_terminal.h"
#include "comm/mpi/communicator.h"

namespace voltpile::cli {

// The terminal as the leader of the chat sees it. All methods throw CommError.
class FarTerminal final : public ChatTerminal {
  public:
    explicit FarTerminal(const Communicator& world);
    ~FarTerminal() override;  // ends serve_far_terminal on rank 0
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

// Serves a FarTerminal: rank 0 calls this and returns when the FarTerminal is destroyed. Sleeps between
// requests. Throws CommError.
void serve_far_terminal(const Communicator& world, ChatTerminal& terminal);

}  // namespace voltpile::cli
