#include "machine/power_control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "machine/clock_control.h"
#include "machine/simulated_supply.h"

using namespace voltpile;
using voltpile::testing::SimulatedGpus;
using voltpile::testing::SimulatedSupply;

namespace {

constexpr double kMostRest = 0.95;
constexpr double kTick = 0.001, kSample = 0.1;
constexpr double kWorkBegins_s = 1;  // a job connects its ranks first

// What a node's GPUs draw in every millisecond, with a controller that reads them ten times a second.
struct GuardedRun {
    std::vector<double> watts;
    std::vector<double> rests;  // after each reading

    // The largest mean over any second from `from_s` on.
    double worst_second(double from_s = 0) const {
        const std::size_t second = 1000;
        double sum = 0, worst = 0;
        for (std::size_t i = static_cast<std::size_t>(from_s * 1000); i < watts.size(); ++i) {
            sum += watts[i];
            if (i < static_cast<std::size_t>(from_s * 1000) + second) continue;
            sum -= watts[i - second];
            worst = std::max(worst, sum / static_cast<double>(second));
        }
        return worst;
    }
    double mean(double from_s) const {
        const auto begin = watts.begin() + static_cast<std::ptrdiff_t>(from_s * 1000);
        return std::accumulate(begin, watts.end(), 0.0) / static_cast<double>(watts.end() - begin);
    }
};

struct Plant {
    double base_w = 300;
    std::function<double(double time_s)> dynamic_w = [](double) { return 1100.0; };
    double noise = 0.02;          // of the power, from millisecond to millisecond over 50 ms
    double meter_window_s = 0.1;  // what a reading averages
    double meter_delay_s = 0;     // how old it is
};

GuardedRun hold(const Plant& plant, PowerControl control, double seconds) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    GuardedRun run;
    double factor = 1, next_sample = kSample;
    for (double time = 0; time < seconds; time += kTick) {
        if (run.watts.size() % 50 == 0) factor = 1 + plant.noise * normal(random);
        const double dynamic = time < kWorkBegins_s ? 0 : plant.dynamic_w(time);
        run.watts.push_back((plant.base_w + dynamic * (1 - control.rest())) * factor);
        if (time < next_sample) continue;
        next_sample += kSample;
        const auto end = run.watts.end() - std::lround(plant.meter_delay_s * 1000);
        const auto begin = end - std::min(std::lround(plant.meter_window_s * 1000), end - run.watts.begin());
        if (begin == end) continue;
        const double mean = std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
        run.rests.push_back(control.update(time, mean, plant.meter_window_s));
    }
    return run;
}

constexpr double kBudget = 1000;  // of 1400 W at full work

PowerControl control_for(double most_w = 1500) {
    return {kBudget, most_w, kMostRest};
}

}  // namespace

TEST(PowerControl, HoldsTheBudgetOverEverySecond) {
    const GuardedRun done = hold({}, control_for(), 60);
    EXPECT_LE(done.worst_second(), 1.05 * kBudget);
    EXPECT_GE(done.mean(5), 0.9 * kBudget);  // and uses it
}

TEST(PowerControl, HoldsItWithAMeterThatAveragesASecond) {
    Plant plant;
    plant.meter_window_s = 1;
    const GuardedRun done = hold(plant, control_for(), 60);
    EXPECT_LE(done.worst_second(), 1.05 * kBudget);
    EXPECT_GE(done.mean(10), 0.9 * kBudget);
}

TEST(PowerControl, HoldsItWithReadingsThatAreLate) {
    Plant plant;
    plant.meter_delay_s = 0.1;
    EXPECT_LE(hold(plant, control_for(), 60).worst_second(), 1.05 * kBudget);
}

TEST(PowerControl, DoesNotOscillate) {
    Plant plant;
    plant.noise = 0;
    for (const double window : {0.1, 0.3, 1.0}) {
        plant.meter_window_s = window;
        const GuardedRun done = hold(plant, control_for(), 30);
        const auto settled = done.rests.begin() + 150;
        const auto [least, most] = std::minmax_element(settled, done.rests.end());
        EXPECT_LT(*most - *least, 0.01) << window;
        EXPECT_NEAR(done.mean(15), 0.97 * kBudget, 0.01 * kBudget) << window;
    }
}

TEST(PowerControl, LetsWorkBelowTheBudgetRunFreely) {
    Plant plant;
    plant.dynamic_w = [](double) { return 500.0; };
    const GuardedRun done = hold(plant, control_for(), 30);
    EXPECT_EQ(done.rests.back(), 0);
}

TEST(PowerControl, LetsEverythingRunIfTheLimitsAreBelowTheBudget) {
    EXPECT_EQ(control_for(900).rest(), 0);
}

TEST(PowerControl, HoldsBurstsBetweenIdleTimes) {
    Plant plant;  // a server: requests come and end
    plant.dynamic_w = [](double time) { return std::fmod(time, 7) < 3 ? 1100.0 : 0.0; };
    EXPECT_LE(hold(plant, control_for(), 120).worst_second(), 1.05 * kBudget);
}

TEST(PowerControl, FollowsWorkThatChanges) {
    Plant plant;
    plant.dynamic_w = [](double time) { return time < 20 ? 1100.0 : 600.0; };
    const GuardedRun done = hold(plant, control_for(), 60);
    EXPECT_LE(done.worst_second(), 1.05 * kBudget);
    EXPECT_GE(done.mean(40), 0.93 * 900);  // all that the lighter work draws
}

TEST(PowerControl, RestsAsMuchAsItMayBelowTheBasePower) {
    PowerControl control(200, 1500, kMostRest);
    const GuardedRun done = hold({}, control, 10);
    EXPECT_EQ(done.rests.back(), kMostRest);
}

TEST(SimulatedSupply, SagsAndTripsAsPublished) {
    constexpr int gpus = 4;
    SimulatedSupply supply(gpus * SimulatedGpus::kIdle_w);
    SimulatedGpus v100(gpus);
    for (int i = 0; i < 20000; ++i) {
        const double work = i < 1000 ? 0 : 1;
        v100.advance(1e-4, std::vector<double>(gpus, work));
        supply.advance(1e-4, v100.watts());
        if (i == 999) {
            EXPECT_NEAR(supply.lowest(), 12.1, 0.01);
        }
    }
    EXPECT_NEAR(supply.lowest(), 11.2, 0.05);
    EXPECT_TRUE(supply.tripped());
}

namespace {

// Runs four GPUs under both controllers. Dynamic power is capacitance x voltage^2 x clock, and the voltage
// falls with the clock, so it goes with a power of the clock between 1 and 3.
struct ClockedRun {
    GuardedRun done;
    std::vector<double> shares;  // of the highest clock, after each reading
};

ClockedRun hold_by_clocks(double exponent, double full_w, double seconds) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    PowerControl control = control_for();
    ClockControl clocks(kBudget);
    ClockedRun run;
    double factor = 1, next_sample = kSample;
    for (double time = 0; time < seconds; time += kTick) {
        std::vector<double>& watts = run.done.watts;
        if (watts.size() % 50 == 0) factor = 1 + 0.02 * normal(random);
        const double work = time < kWorkBegins_s ? 0 : 1 - control.rest();
        watts.push_back((300 + (full_w - 300) * std::pow(clocks.share(), exponent) * work) * factor);
        if (time < next_sample) continue;
        next_sample += kSample;
        const double mean = std::accumulate(watts.end() - 100, watts.end(), 0.0) / 100;
        run.done.rests.push_back(control.update(time, mean, kSample));
        run.shares.push_back(clocks.update(time, mean, control.rest()));
    }
    return run;
}

}  // namespace

TEST(ClockControl, ReplacesRestsWithinTheBudget) {
    for (const double exponent : {1.0, 2.0, 3.0}) {
        const ClockedRun run = hold_by_clocks(exponent, 1400, 90);
        EXPECT_LE(run.done.worst_second(), 1.05 * kBudget) << exponent;
        EXPECT_GE(run.done.mean(40), 0.88 * kBudget) << exponent;  // and uses it
        const double rests = std::accumulate(run.done.rests.end() - 300, run.done.rests.end(), 0.0) / 300;
        EXPECT_LT(rests, 0.03) << exponent;
        EXPECT_LT(run.shares.back(), 0.95) << exponent;
    }
}

TEST(ClockControl, Settles) {
    const ClockedRun run = hold_by_clocks(2, 1400, 90);
    const auto [least, most] = std::minmax_element(run.shares.end() - 400, run.shares.end());
    EXPECT_LT(*most - *least, 0.05);
}

TEST(ClockControl, LeavesWorkBelowTheBudgetAlone) {
    const ClockedRun run = hold_by_clocks(2, 800, 30);
    EXPECT_EQ(*std::ranges::min_element(run.shares), 1);
}

TEST(ClockControl, RaisesClocksWhenTheWorkBecomesLighter) {
    ClockControl clocks(kBudget);
    double time = 0;
    for (int i = 0; i < 100; ++i) clocks.update(time += kSample, 970, 0.3);
    const double low = clocks.share();
    EXPECT_LT(low, 0.7);
    for (int i = 0; i < 1000; ++i) clocks.update(time += kSample, 500, 0);
    EXPECT_EQ(clocks.share(), 1);
}

// Runs four GPUs for 20 s, the budget for all of them, each beginning ramp_s after the one before.
SimulatedSupply guarded(double budget_w, double ramp_s) {
    constexpr int gpus = 4;
    SimulatedSupply supply(gpus * SimulatedGpus::kIdle_w);
    SimulatedGpus v100(gpus);
    PowerControl control(budget_w, gpus * SimulatedGpus::kFull_w, kMostRest);
    double energy = 0;
    for (int i = 0; i < 200000; ++i) {
        const double time = i * 1e-4;
        std::vector<double> work;
        for (int gpu = 0; gpu < gpus; ++gpu) work.push_back(time < 1 + gpu * ramp_s ? 0 : 1 - control.rest());
        v100.advance(1e-4, work);
        supply.advance(1e-4, v100.watts());
        energy += v100.watts() * 1e-4;
        if (i % 1000 == 999) {
            control.update(time, energy / kSample, kSample);
            energy = 0;
        }
    }
    return supply;
}

TEST(SimulatedSupply, StaysUpWithRampAndBudget) {
    EXPECT_TRUE(guarded(1e6, 0).tripped());
    const SimulatedSupply supply = guarded(1200, 0.25);
    EXPECT_FALSE(supply.tripped()) << supply.lowest();
}

TEST(SimulatedSupply, StaysUpWithTheRampAlone) {
    EXPECT_FALSE(guarded(1e6, 0.25).tripped());
}
