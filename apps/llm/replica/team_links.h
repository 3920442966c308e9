// Connects a decoder to the other ranks of its team. Sums and gathers go through the StreamCommunicator of
// the tensor-parallel group, on the stream of the operations, so that CUDA graphs capture them too. Hidden
// states go through channels between the pipeline stages, between graph launches.
#pragma once

#include <array>
#include <chrono>
#include <memory>

#include "llm/decoder/decoder_links.h"
#include "run/team_context.h"

namespace voltpile::llm {

// The longest time that a stage may compute before it sends hidden states, or the tokens drawn from them. A
// lost peer is noticed sooner (ChannelOptions::deadline).
inline constexpr std::chrono::minutes longest_pass{10};

// How long a rank with a GPU polls before it sleeps. Passes and the other stages' tokens come a few
// milliseconds apart, and the rank's core has nothing else to do.
inline constexpr std::chrono::milliseconds gpu_patience{20};

class TeamLinks final : public DecoderLinks {
  public:
    // Copies hidden states before sending them, so that the decoder can reuse its buffer. The largest have
    // `rows` rows, of `columns` numbers of the residual stream and state_columns of what an EAGLE 3 head
    // reads. stream: of ops; nullptr if they work on the host. area: to join sums with norms, or null. teams,
    // ops and stream must outlive this object.
    TeamLinks(const TeamContext& teams, Ops& ops, const Stream* stream, std::int64_t rows,
              std::int64_t columns, std::int64_t state_columns, std::unique_ptr<PeerArea> area);
    ~TeamLinks() override;

    void all_reduce(FloatRows x) override;
    void* joint_output() override { return sums_ ? sums_->normed() : nullptr; }
    void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps,
                      SentinelPlace place) override;
    void complete(FloatRows x) override;
    void all_gather(FloatRows part, FloatRows parts) override;
    void all_to_all(HiddenRows in, HiddenRows out) override;
    void send_to_next(FloatRows x, HiddenRows states) override;
    void receive_from_previous(FloatRows x, HiddenRows states) override;

    // Watches the passes enqueued so far: frees them if they wait for a lost peer, and check() then throws.
    void watch();
    // Throws CommError if a peer is lost. Call it after waiting for the operations.
    void check();

  private:
    struct Slot {
        std::unique_ptr<OpsMemory> memory;  // the rows of x, and behind them those of the states
        Transfer x_sent, states_sent;
    };

    static std::size_t bytes_of_rows(FloatRows x) {
        return static_cast<std::size_t>(x.rows * x.columns) * sizeof(float);
    }
    std::size_t bytes_of_rows(HiddenRows states) const {
        return static_cast<std::size_t>(states.rows * states.columns) * state_bytes_;
    }
    // Whether each rank of the group hands on its share of the rows, which the next stage gathers.
    bool hands_on_shares(FloatRows x) const;
    FloatRows share_of(FloatRows x) const;
    // Completes x, of which this rank has its share.
    void gather_shares(FloatRows x);
    Memory memory(void* data, std::size_t bytes) const;
    // Enqueues a copy to `slot`, which is sent from there.
    Transfer send(void* slot, const void* from, std::size_t bytes);
    void receive(void* to, std::size_t bytes);
    StreamRef where() const { return stream_ != nullptr ? StreamRef(*stream_) : StreamRef::host(); }

    const TeamContext& teams_;
    const Stream* stream_;
    std::size_t state_bytes_;          // of a number of the hidden state
    std::unique_ptr<JointSums> sums_;  // null without an area
    std::array<Slot, 2> slots_;
    std::size_t next_slot_ = 0;
};

}  // namespace voltpile::llm
