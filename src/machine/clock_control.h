// Decides how far the clocks of a node's GPUs are lowered so that they need no rests to stay within a power
// budget. Pure: no clock, no hardware.
//
// PowerControl holds the budget within a tenth of a second by rests. This follows it more slowly, because
// setting clocks takes a driver long: while the GPUs rest at full power their clocks go down, and up again
// while they draw much less than the budget.
#pragma once

namespace voltpile {

class ClockControl {
  public:
    explicit ClockControl(double budget_w) : budget_w_(budget_w) {}

    // Takes a reading about ten times a second: the GPUs draw `watts` and rest for a share of the time. Times
    // rise from call to call. Returns the clock from now on, as share of the highest.
    double update(double time_s, double watts, double rest);

    double share() const { return share_; }

  private:
    double budget_w_;
    double share_ = 1;
    double since_s_ = -1;  // when these sums began; < 0: not yet
    double watts_ = 0, rest_ = 0;
    int readings_ = 0;
};

}  // namespace voltpile
