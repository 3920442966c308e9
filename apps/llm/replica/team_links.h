// A decoder's links over the ranks of a team: sums and pieces by the StreamCommunicator of the
// tensor-parallel group, on the stream of the operations (so that they can be captured into CUDA graphs with
// them); hidden states by channels between the stages, which go between graph launches.
#pragma once

#include <array>
#include <chrono>
#include <memory>

#include "llm/decoder/decoder_links.h"
#include "run/team_context.h"

namespace voltpile::llm {

// A stage may compute for so long before it sends hidden states, or the tokens drawn from them. That a peer
// is lost is found out sooner (ChannelOptions::deadline).
inline constexpr std::chrono::minutes longest_pass{10};

// A rank with a GPU has a core to spare while it waits for the next pass, or for the other stages' tokens, a
// few milliseconds apart.
inline constexpr std::chrono::milliseconds gpu_patience{20};

class TeamLinks final : public DecoderLinks {
  public:
    // What is sent is copied first, so that the decoder goes on with its buffer: most_bytes of one hidden
    // state. stream: of ops; nullptr: they work on the host. All outlive it.
    TeamLinks(const TeamContext& teams, Ops& ops, const Stream* stream, std::size_t most_bytes);
    ~TeamLinks() override;

    void all_reduce(FloatRows x) override;
    void all_gather(FloatRows part, FloatRows parts) override;
    void send_to_next(FloatRows x) override;
    void receive_from_previous(FloatRows x) override;

    // Has the passes so far watched: should they wait for a lost peer, check() finds out.
    void watch();
    // After the operations have been waited for: throws CommError if a peer is lost.
    void check();

  private:
    struct Slot {
        std::unique_ptr<OpsMemory> memory;
        Transfer sent;
    };

    Memory memory(void* data, std::size_t bytes) const;
    StreamRef where() const { return stream_ != nullptr ? StreamRef(*stream_) : StreamRef::host(); }

    const TeamContext& teams_;
    const Stream* stream_;
    std::array<Slot, 2> slots_;
    std::size_t next_slot_ = 0;
};

}  // namespace voltpile::llm
