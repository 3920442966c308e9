// Decides which share of the time the GPUs of a node rest so that they stay within a power budget. Pure: no
// clock, no hardware.
//
// The power is base + dynamic * (1 - rest). The controller learns both numbers from readings, each compared
// with the mean rest over the time that the reading covers, so that a slow meter does not make it oscillate.
// Until it knows better it assumes the most that the GPUs' power limits allow.
#pragma once

#include <deque>

namespace voltpile {

class PowerControl {
  public:
    // budget_w: what all GPUs of the node may draw together, as mean over any second. most_w: the sum of
    // their power limits; 0: unknown. most_rest: below 1.
    PowerControl(double budget_w, double most_w, double most_rest);

    // Takes a reading: the mean power from time_s - window_s to time_s. Times rise from call to call. Returns
    // the share of the time to rest from now until the next call.
    double update(double time_s, double watts, double window_s);

    double rest() const { return rest_; }

    // Returns the mean power of the last second by the readings so far.
    double mean_w() const;

  private:
    struct Step {
        double time_s;  // from then on
        double rest;
    };
    struct Reading {
        double time_s, watts;
    };
    double mean_rest(double from_s, double to_s) const;
    void learn(double time_s, double watts, double window_s);
    double target_w() const;

    double budget_w_, most_w_, most_rest_;
    double rest_;
    double base_w_ = -1;            // not known yet
    double dynamic_w_ = -1;         // at full work
    std::deque<Step> steps_;        // of the last seconds
    std::deque<Reading> readings_;  // of the last second
};

}  // namespace voltpile
