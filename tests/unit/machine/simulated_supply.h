// A home-made 12 V supply and GPUs on it, by the published case: four V100s that ramp together from 150 W to
// 350 W within a tenth of a second pull it from 12.1 V to 11.2 V.
#pragma once

#include <algorithm>
#include <vector>

namespace voltpile::testing {

// A regulator with the inductance and resistance of its slow control loop and its cables, and an output
// capacitor with a series resistance. Voltages in volts, currents in amperes.
class SimulatedSupply {
  public:
    static constexpr double kIdleVoltage = 12.1;
    static constexpr double kTripsBelow = 11.4;  // 12 V less the 5 % of the ATX specification

    explicit SimulatedSupply(double idle_watts) : inductor_a_(idle_watts / kNominalVoltage) {
        regulator_v_ = kIdleVoltage + kResistance * inductor_a_;
    }

    void advance(double seconds, double watts) {
        const double load_a = watts / kNominalVoltage;
        voltage_ = capacitor_v_ + kSeriesResistance * (inductor_a_ - load_a);
        inductor_a_ += seconds * (regulator_v_ - kResistance * inductor_a_ - voltage_) / kInductance;
        capacitor_v_ += seconds * (inductor_a_ - load_a) / kCapacitance;
        lowest_ = std::min(lowest_, voltage_);
    }

    double lowest() const { return lowest_; }
    bool tripped() const { return lowest_ < kTripsBelow; }

  private:
    static constexpr double kResistance = 0.003, kInductance = 0.00079;     // ohms, henries
    static constexpr double kCapacitance = 0.02, kSeriesResistance = 0.05;  // farads, ohms

    static constexpr double kNominalVoltage = 12;

    double regulator_v_ = 0;
    double inductor_a_;
    double capacitor_v_ = kIdleVoltage;
    double voltage_ = kIdleVoltage;
    double lowest_ = kIdleVoltage;
};

// GPUs whose power follows their work within a tenth of a second.
class SimulatedGpus {
  public:
    static constexpr double kIdle_w = 150, kFull_w = 350, kRamp_s = 0.1;

    explicit SimulatedGpus(int count) : watts_(static_cast<std::size_t>(count), kIdle_w) {}

    // work: the share of the time that each computes.
    void advance(double seconds, const std::vector<double>& work) {
        for (std::size_t gpu = 0; gpu < watts_.size(); ++gpu) {
            const double goal = kIdle_w + (kFull_w - kIdle_w) * work[gpu];
            const double most = (kFull_w - kIdle_w) * seconds / kRamp_s;
            watts_[gpu] += std::clamp(goal - watts_[gpu], -most, most);
        }
    }

    double watts() const {
        double sum = 0;
        for (const double each : watts_) sum += each;
        return sum;
    }

  private:
    std::vector<double> watts_;
};

}  // namespace voltpile::testing
