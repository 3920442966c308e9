// Integrates one point: what Block (block.h) does for a lane, without registers in memory.
#pragma once

#include "ode/functions.h"
#include "ode/outcome.h"
#include "ode/quick_math.h"
#include "sweep/parameter_source.h"
#include "sweep/select.h"

namespace voltpile::ode {
inline namespace VOLTPILE_TARGET {

// The largest whole number that is not above x.
VOLTPILE_HD double whole_part(double x) {
#if defined(__CUDA_ARCH__)
    return floor(x);
#else
    return __builtin_floor(x);
#endif
}

// Equations: the class that point_source() writes. Its members:
// - adaptive, searches: its method; whether there are events, whose times are searched for
// - moving, kept, states, outputs: how many numbers there are; the first `states` moving ones must be finite
// - carries_time, time, step_size: whether and where they are among the moving numbers
// - t_begin, t_end, dt, whole_steps, most_steps
// - keep(point, size, k): sets what a point keeps from step to step. size: of fixed steps
// - start(point, m): sets the moving numbers; returns 1, 2, ... if an event holds at the start, else 0
// - step(math, m, k, size, limit, next, fired, too_small, finite): as in Problem (problem.h); math:
// quick_math.h
// - finish(point, time, m, out, lyapunov): sets the last two
template <class Equations>
class PointMotion {
  public:
    VOLTPILE_HD void begin(std::int64_t point) {
        point_ = point;
        steps_ = 0;
        halvings_ = -1;
        status_ = undecided;
        size_ = Equations::dt;
        Equations::keep(point, size_, k_);
        const double fired = Equations::start(point, m_);
        if (fired > 0) decide_event(fired);
    }

    VOLTPILE_HD bool decided() const { return status_ != undecided; }
    VOLTPILE_HD std::int32_t steps() const { return steps_; }

    VOLTPILE_HD void step() {
        double next[moving];
        Signs signs;
        const double limit = halvings_ < 0 ? 1.0 : 1e300;
        QuickMath quick;
        Equations::step(quick, m_, k_, size_, limit, next, signs.fired, signs.too_small, signs.finite);
        bool calm = !Equations::searches || (halvings_ < 0 && !(signs.fired > 0));
        calm &= steps_ + 1 < most_steps;
        if constexpr (Equations::adaptive)
            calm &= next[Equations::time] < Equations::t_end && !(signs.too_small > 0);
        // Numbers that are not too large have a finite sum.
        VOLTPILE_UNROLL
        for (int i = 0; i < Equations::states; ++i) calm &= (bits_of(next[i]) >> 52 & 0x7ff) < 0x7e0;
        if (calm & quick.sound) return take(next);
        if (!quick.sound) {
            ExactMath exact;
            Equations::step(exact, m_, k_, size_, limit, next, signs.fired, signs.too_small, signs.finite);
        }
        advance(next, signs);
    }

    // outcome: as Block gives it.
    VOLTPILE_HD void finish(Outcome& outcome) const {
        outcome.steps = steps_;
        outcome.t_final = last_time();
        Equations::finish(point_, outcome.t_final, m_, outcome.outputs, outcome.lyapunov);
        outcome.status = status_;
        complete(outcome, Equations::outputs);
    }

    // Passes the state of an undecided point to the functions of a PackingMove (sweep/gpu_packing.cuh).
    template <class Move>
    VOLTPILE_HD void move(const Move& move) {
        move_numbers<0, Equations::moving>(move, m_);
        move_numbers<0, Equations::kept>(move, k_);
        int integers[3] = {steps_, static_cast<int>(point_), static_cast<int>(point_ >> 32)};
        move.template integers<3>(integers);
        steps_ = integers[0];
        point_ = static_cast<std::int64_t>(integers[2]) << 32 | static_cast<std::uint32_t>(integers[1]);
        if constexpr (Equations::searches) {
            double numbers[3] = {size_, low_, high_};
            move.template numbers<3>(numbers);
            size_ = numbers[0];
            low_ = numbers[1];
            high_ = numbers[2];
            move.template integers<1>(&halvings_);
        }
        status_ = undecided;
    }

  private:
    static constexpr int undecided = -1;
    static constexpr int most_halvings = 44;  // to find the time of an event within a step

    struct Signs {
        double fired, too_small, finite;
    };

    static constexpr std::int64_t most_steps =
        !Equations::adaptive && Equations::whole_steps < Equations::most_steps ? Equations::whole_steps
                                                                               : Equations::most_steps;
    static constexpr int moving = Equations::moving;  // at least one state

    VOLTPILE_HD void take(const double* next) {
        VOLTPILE_UNROLL
        for (int i = 0; i < Equations::moving; ++i) m_[i] = next[i];
        ++steps_;
    }

    VOLTPILE_HD void decide(Status status) { status_ = static_cast<int>(status); }
    VOLTPILE_HD void decide_event(double fired) {
        status_ = static_cast<int>(Status::FirstEvent) + static_cast<int>(fired) - 1;
    }

    // Decides what a step leads to that is not simply taken.
    VOLTPILE_HD void advance(const double* next, const Signs& signs) {
        const bool finite = signs.finite == 0;
        if constexpr (Equations::searches) {
            if (halvings_ >= 0) return search(next, signs.fired, finite);
        }
        if (!finite) return decide(Status::NotFinite);
        if constexpr (Equations::searches) {
            if (signs.fired > 0) {
                halvings_ = 0;
                low_ = 0;
                high_ = size();
                return try_step(0.5 * high_);
            }
        }
        take(next);
        bool ended = steps_ >= Equations::whole_steps;
        if constexpr (Equations::adaptive) ended = m_[Equations::time] >= Equations::t_end;
        if (ended) return decide(Status::End);
        if (Equations::adaptive && signs.too_small > 0) return decide(Status::StepTooSmall);
        if (steps_ >= Equations::most_steps) decide(Status::MaxSteps);
    }

    VOLTPILE_HD double size() const {
        if constexpr (Equations::adaptive) return m_[Equations::step_size];
        return size_;
    }

    VOLTPILE_HD void try_step(double size) {
        if constexpr (Equations::adaptive) {
            m_[Equations::step_size] = size;
        } else {
            size_ = size;
            Equations::keep(point_, size, k_);
        }
    }

    // Halves the interval in which the event occurs, then takes the step to its end.
    VOLTPILE_HD void search(const double* next, double fired, bool finite) {
        if (halvings_++ < most_halvings) {
            if (fired > 0)
                high_ = size();
            else
                low_ = size();
            const double middle = low_ + 0.5 * (high_ - low_);
            return try_step(halvings_ < most_halvings ? middle : high_);
        }
        if (!finite || !(fired > 0)) return decide(Status::NotFinite);
        take(next);
        decide_event(fired);
    }

    VOLTPILE_HD double last_time() const {
        if (status_ == static_cast<int>(Status::End)) return Equations::t_end;
        if constexpr (Equations::carries_time) return m_[Equations::time];
        if (steps_ == 0) return Equations::t_begin;
        return fused(static_cast<double>(steps_), Equations::dt, Equations::t_begin);
    }

    template <int first, int count, class Move>
    static VOLTPILE_HD void move_numbers(const Move& move, double* numbers) {
        constexpr int most = Move::most_numbers;
        if constexpr (count > most) {
            move.template numbers<most>(numbers + first);
            move_numbers<first + most, count - most>(move, numbers);
        } else if constexpr (count > 0) {
            move.template numbers<count>(numbers + first);
        }
    }

    double m_[moving];
    double k_[Equations::kept > 0 ? Equations::kept : 1];
    double size_;                 // of the next step, if that is fixed
    double low_ = 0, high_ = 0;   // the event's time, after the time of the state
    std::int64_t point_ = 0;      // its number in the sweep
    std::int32_t steps_ = 0;      // taken
    std::int32_t halvings_ = -1;  // -1: no event is looked for
    std::int32_t status_ = undecided;
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::ode
