// Forwards every call to other links and marks the collectives for timing (see TimedOps).
#pragma once

#include "llm/decoder/decoder_links.h"
#include "llm/ops/timed_ops.h"

namespace voltpile::llm {

inline constexpr const char* all_reduce_name = "all-reduce";
inline constexpr const char* joint_sum_name = "all-reduce and RMS norm";
inline constexpr const char* all_gather_name = "all-gather";
inline constexpr const char* all_to_all_name = "all-to-all";

class TimedLinks final : public DecoderLinks {
  public:
    TimedLinks(DecoderLinks& links, const TimedOps& ops) : links_(links), ops_(ops) {}

    void all_reduce(FloatRows x) override {
        links_.all_reduce(x);
        ops_.mark(all_reduce_name);
    }
    void* joint_output() override { return links_.joint_output(); }
    void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps,
                      SentinelPlace place) override {
        links_.add_rms_norm(x, delta, weight, eps, place);
        ops_.mark(joint_sum_name);
    }
    void complete(FloatRows x) override {
        links_.complete(x);
        ops_.mark(all_gather_name);
    }
    void all_gather(FloatRows part, FloatRows parts) override {
        links_.all_gather(part, parts);
        ops_.mark(all_gather_name);
    }
    void all_to_all(HiddenRows in, HiddenRows out) override {
        links_.all_to_all(in, out);
        ops_.mark(all_to_all_name);
    }
    void send_to_next(FloatRows x, HiddenRows states) override { links_.send_to_next(x, states); }
    void receive_from_previous(FloatRows x, HiddenRows states) override {
        links_.receive_from_previous(x, states);
    }

  private:
    DecoderLinks& links_;
    const TimedOps& ops_;
};

}  // namespace voltpile::llm
