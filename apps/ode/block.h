// A block of lanes, each of which integrates a point with a time and a step of its own. Only for sources that
// voltpile_cpu_kernels compiles.
#pragma once

#include "ode/interpreter.h"
#include "ode/outcome.h"
#include "sweep/point_stream.h"

namespace voltpile::ode {
inline namespace VOLTPILE_TARGET {

// The registers of a pack of lanes, as many as a SIMD register has, lie beside each other. The interpreter
// takes a step of all lanes together; machine code takes many steps of a pack. A lane that is decided gets a
// new point at once; when there are no more, the last lane takes its place, so that the lanes in use stay
// together.
class Block {
  public:
    VOLTPILE_HD Block(const Problem& problem, PointStream& stream, double* registers)
        : p_(problem), stream_(stream), r_(registers) {
        for (int i = 0; i < p_.constant_count; ++i)
            for (int lane = 0; lane < kBlockLanes; ++lane)
                at(p_.constants[i].to, lane) = p_.constants[i].value;
    }

    VOLTPILE_HD void sweep() {
        double units = 0;
        const double most_units = kOperationsBetweenReports / p_.operations_per_step + 1;
        for (;;) {
            fill();
            if (used_ == 0) break;
            if (decided_some_) {
                // An event holds at the start of a point, which ends before it moves.
            } else if (p_.step_code) {
                for (int first = 0; first < used_; first += Pack::lanes) units += run_machine_code(first);
            } else {
                for (int i = 0; i < kStepsBetweenDraws && !decided_some_; ++i) {
                    step();
                    units += used_;
                }
            }
            if (decided_some_) finish_lanes();
            if (units >= most_units) {
                if (!stream_.report(units)) return;
                units = 0;
            }
        }
        stream_.report(units);
    }

  private:
    static constexpr int kStepsBetweenDraws = 256;
    static constexpr int kHalvings = 44;  // to find the time of an event within a step
    static constexpr double kOperationsBetweenReports = 3e6;
    static constexpr int kUndecided = -1;

    struct Lane {
        Ticket ticket;
        int decided;       // a Status, kUndecided
        int halvings;      // -1: the lane is not looking for an event
        double low, high;  // the event's time, after the time of the state
    };

    VOLTPILE_HD double& at(int number, int lane) {
        return pack_of(lane)[number * Pack::lanes + lane % Pack::lanes];
    }
    VOLTPILE_HD double* pack_of(int lane) { return r_ + lane / Pack::lanes * stride_; }
    VOLTPILE_HD int packs() const { return (used_ + Pack::lanes - 1) / Pack::lanes; }
    VOLTPILE_HD void run(ProgramView program, int lane) {
        run_program<1>(program, pack_of(lane), stride_, 1);
    }

    // Makes the next state of a lane its state.
    VOLTPILE_HD void move(int lane) {
        for (int i = 0; i < p_.moving; ++i) at(i, lane) = at(p_.moving + i, lane);
    }

    // Gives idle lanes points.
    VOLTPILE_HD void fill() {
        while (used_ < kBlockLanes) {
            Lane& lane = lanes_[used_];
            if (!stream_.draw(lane.ticket)) return;
            begin(used_++);
        }
    }

    VOLTPILE_HD void begin(int i) {
        Lane& lane = lanes_[i];
        lane.decided = kUndecided;
        lane.halvings = -1;
        for (int k = 0; k < p_.source_count; ++k)
            at(p_.sources[k].to, i) = value_at(p_.sources[k].source, lane.ticket.point);
        at(p_.limit, i) = 1;
        at(p_.most_steps, i) = p_.max_steps;
        at(p_.step_size, i) = p_.dt;
        at(p_.time, i) = p_.t_begin;
        run(p_.setup, i);
        run(p_.start, i);
        move(i);
        const double fired = at(p_.fired, i);
        if (fired > 0) decide(i, static_cast<int>(Status::FirstEvent) + static_cast<int>(fired) - 1);
    }

    VOLTPILE_HD void decide(int i, int status) {
        lanes_[i].decided = status;
        decided_some_ = true;
    }
    VOLTPILE_HD void decide(int i, Status status) { decide(i, static_cast<int>(status)); }

    VOLTPILE_HD void step() {
        if (used_ == kBlockLanes)
            run_program<kPacks>(p_.step, r_, stride_, kPacks);
        else
            run_program<0>(p_.step, r_, stride_, packs());
        if (searching_ > 0 || any_alarm()) {
            for (int i = 0; i < used_; ++i) advance(i);
            return;
        }
        const std::ptrdiff_t numbers = static_cast<std::ptrdiff_t>(p_.moving) * Pack::lanes;
        for (double* pack = r_; pack < r_ + packs() * stride_; pack += stride_)
            __builtin_memcpy(pack, pack + numbers, static_cast<std::size_t>(numbers) * sizeof(double));
    }

    // One bit for each lane in use of the pack that begins with this lane.
    VOLTPILE_HD unsigned lanes_from(int first) const {
        return used_ - first < Pack::lanes ? (1U << (used_ - first)) - 1U : (1U << Pack::lanes) - 1U;
    }

    VOLTPILE_HD bool any_alarm() {
        bool alarm = false;
        for (int first = 0; first < used_; first += Pack::lanes)
            alarm |= (~lanes_not_above(Pack::load(&at(p_.alarm, first)), Pack(0.0)) & lanes_from(first)) != 0;
        return alarm;
    }

    // Takes steps of the lanes of a pack until one of them needs more than that. Returns the number of steps.
    VOLTPILE_HD double run_machine_code(int first) {
        const int end = first + Pack::lanes < used_ ? first + Pack::lanes : used_;
        const int left = p_.step_code(pack_of(first), kStepsBetweenDraws, lanes_from(first));
        int steps = kStepsBetweenDraws - left;
        if (left > 0) {
            // The last step is not taken. Lanes that look for an event go on alone.
            ++steps;
            for (int i = first; i < end; ++i) advance(i);
            while (searching_ > 0) {
                run(p_.step, first);
                ++steps;
                for (int i = first; i < end; ++i) advance(i);
            }
        }
        return static_cast<double>(steps) * (end - first);
    }

    // Decides what a lane's step leads to.
    VOLTPILE_HD void advance(int i) {
        if (lanes_[i].decided != kUndecided) return;
        if (lanes_[i].halvings >= 0) return search(i);
        if (at(p_.alarm, i) <= 0) return move(i);
        if (!(at(p_.finite, i) == 0)) return decide(i, Status::NotFinite);
        if (at(p_.fired, i) > 0) {
            lanes_[i].halvings = 0;
            lanes_[i].low = 0;
            lanes_[i].high = at(p_.step_size, i);
            ++searching_;
            return try_step(i, 0.5 * lanes_[i].high);
        }
        move(i);
        const bool ended = p_.adaptive ? at(p_.time, i) >= p_.t_end : at(p_.steps, i) >= p_.whole_steps;
        if (ended) {
            at(p_.time, i) = p_.t_end;
            return decide(i, Status::End);
        }
        if (p_.adaptive && at(p_.too_small, i) > 0) return decide(i, Status::StepTooSmall);
        decide(i, Status::MaxSteps);
    }

    VOLTPILE_HD void try_step(int i, double size) {
        at(p_.step_size, i) = size;
        at(p_.limit, i) = 1e300;
        if (!p_.adaptive) run(p_.setup, i);
    }

    // Halves the interval in which the event occurs, then takes the step to its end.
    VOLTPILE_HD void search(int i) {
        Lane& lane = lanes_[i];
        const bool fired = at(p_.fired, i) > 0;
        const double size = at(p_.step_size, i);
        if (lane.halvings++ < kHalvings) {
            if (fired)
                lane.high = size;
            else
                lane.low = size;
            const double middle = lane.low + 0.5 * (lane.high - lane.low);
            return try_step(i, lane.halvings < kHalvings ? middle : lane.high);
        }
        const int event = static_cast<int>(at(p_.fired, i));
        const bool finite = at(p_.finite, i) == 0;
        --searching_;
        if (!finite || event == 0) return decide(i, Status::NotFinite);
        move(i);
        decide(i, static_cast<int>(Status::FirstEvent) + event - 1);
    }

    VOLTPILE_HD void finish_lanes() {
        decided_some_ = false;
        for (int i = 0; i < used_; ++i)
            if (lanes_[i].decided != kUndecided) finish(i);
        // From the end, so that the lanes that take other ones' places are undecided.
        for (int i = used_ - 1; i >= 0; --i) {
            if (lanes_[i].decided == kUndecided) continue;
            if (stream_.draw(lanes_[i].ticket)) {
                begin(i);
                continue;
            }
            --used_;
            if (i == used_) continue;
            lanes_[i] = lanes_[used_];
            for (int k = 0; k < p_.registers; ++k) at(k, i) = at(k, used_);
        }
    }

    VOLTPILE_HD void finish(int i) {
        run(p_.outputs, i);
        Outcome outcome;
        outcome.status = lanes_[i].decided;
        outcome.steps = static_cast<std::int32_t>(at(p_.steps, i));
        outcome.t_final = at(p_.time, i);
        outcome.lyapunov = at(p_.lyapunov, i);
        for (int k = 0; k < p_.output_count; ++k) outcome.outputs[k] = at(p_.first_output + k, i);
        complete(outcome, p_.output_count);
        stream_.finish(lanes_[i].ticket, &outcome);
    }

    const Problem& p_;
    PointStream& stream_;
    double* const r_;
    const std::ptrdiff_t stride_ = pack_stride(p_, Pack::lanes);  // from pack to pack
    int used_ = 0;
    int searching_ = 0;  // lanes that look for an event
    bool decided_some_ = false;
    Lane lanes_[kBlockLanes];
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::ode
