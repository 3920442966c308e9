#include "ode/point_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ode/straight_line.h"

namespace voltpile::ode {

namespace {

using Targets = std::vector<std::pair<std::string, int>>;

class PointSource {
  public:
    explicit PointSource(const Problem& problem) : p_(problem) {
        searches_ = event_can_fire();
        prepare(setup_);
        setup_.run(p_.setup);
        step_ = step_line();
        choose_carried();
        for (const int input : step_.inputs_of(step_registers()))
            if (input >= p_.moving && input != p_.limit && input != p_.step_size) kept_.push_back(input);
    }

    std::string write() const {
        return fmt::format(
            R"(struct Equations {{
    static constexpr bool adaptive = {}, searches = {}, carries_time = {};
    static constexpr int moving = {}, kept = {}, states = {}, outputs = {};
    static constexpr int time = {}, step_size = {};  // among the moving numbers
    static constexpr double t_begin = {}, t_end = {}, dt = {};
    static constexpr std::int64_t whole_steps = {:.0f}, most_steps = {:.0f};

    static VOLTPILE_HD void keep(std::int64_t point, double size, double* k) {{
{}    }}
    static VOLTPILE_HD double start(std::int64_t point, double* m) {{
        double fired = 0;
{}        return fired;
    }}
    template <class Math>
    static VOLTPILE_HD void step(Math& math, const double* m, const double* k, double size, double limit, double* next,
                                 double& fired, double& too_small, double& finite) {{
{}    }}
    static VOLTPILE_HD void finish(std::int64_t point, double time, const double* m, double* out,
                                   double& lyapunov) {{
{}    }}
}};
)",
            p_.adaptive, searches_, carries(p_.time), carried_.size(), kept_.size(), std::max(1, p_.time),
            p_.output_count, place(p_.time), p_.adaptive ? place(p_.step_size) : 0, literal_of(p_.t_begin),
            literal_of(p_.t_end), literal_of(p_.dt), std::min(p_.whole_steps, 4e18), p_.max_steps,
            keep_code(), start_code(), step_code(), finish_code());
    }

  private:
    // Sets what holds before any program. The size of fixed steps changes only where an event is looked for.
    void prepare(StraightLine& line) const {
        for (int i = 0; i < p_.constant_count; ++i) line.know(p_.constants[i].to, p_.constants[i].value);
        for (int i = 0; i < p_.source_count; ++i) {
            const SourceRegister& source = p_.sources[i];
            if (varies(source.source))
                line.input(source.to);
            else
                line.know(source.to, value_at(source.source, 0));
        }
        line.know(p_.most_steps, p_.max_steps);
        if (searches_) {
            line.input(p_.limit);
            line.input(p_.step_size);
        } else {
            line.know(p_.limit, 1);
            line.know(p_.step_size, p_.dt);
        }
    }

    // The line of the step: what the setup wrote is known or an input.
    StraightLine step_line() const {
        StraightLine line;
        const auto take = [&](int to) {
            if (setup_.is_known(to))
                line.know(to, setup_.known(to));
            else
                line.input(to);
        };
        for (int i = 0; i < p_.constant_count; ++i) take(p_.constants[i].to);
        for (int i = 0; i < p_.source_count; ++i) take(p_.sources[i].to);
        for (int i = 0; i < p_.setup.size; ++i) take(p_.setup.code[i].to);
        for (const int to : {p_.limit, p_.step_size, p_.most_steps}) take(to);
        for (int i = 0; i < p_.moving; ++i) line.input(i);
        line.run(p_.step);
        return line;
    }

    bool event_can_fire() {
        prepare(setup_);
        setup_.run(p_.setup);
        const StraightLine line = step_line();
        setup_ = StraightLine();
        return !line.is_known(p_.fired) || line.known(p_.fired) != 0;
    }

    // Steps are counted by PointMotion; the time need not be followed where no step depends on it.
    void choose_carried() {
        for (int i = 0; i < p_.moving; ++i)
            if (i != p_.time && i != p_.steps) carried_.push_back(i);
        // Where an event is looked for within a fixed step, the number of steps does not give its time.
        if (searches_ && !p_.adaptive) carried_.push_back(p_.time);
        for (bool complete = false; !complete;) {
            complete = true;
            const std::vector<int> inputs = step_.inputs_of(step_registers());
            for (const int i : {p_.time, p_.steps}) {
                if (carries(i) || !std::ranges::binary_search(inputs, i)) continue;
                carried_.push_back(i);
                complete = false;
            }
        }
    }

    bool carries(int i) const { return std::ranges::find(carried_, i) != carried_.end(); }
    std::ptrdiff_t place(int i) const {
        const auto found = std::ranges::find(carried_, i);
        return found == carried_.end() ? 0 : found - carried_.begin();
    }

    std::vector<int> step_registers() const {
        std::vector<int> registers{p_.fired, p_.too_small, p_.finite};
        for (const int i : carried_) registers.push_back(p_.moving + i);
        return registers;
    }

    using Names = std::function<std::string(int)>;

    // Statements of a function that knows the point's number: those inputs whose names begin with p are
    // computed from it.
    std::string code_at_point(const StraightLine& line, const Targets& targets, const Names& name) const {
        std::vector<int> registers;
        for (const auto& [to, from] : targets) registers.push_back(from);
        const std::vector<int> inputs = line.inputs_of(registers);
        std::string code = "        const ExactMath math;\n";
        for (int i = 0; i < p_.source_count; ++i) {
            const int to = p_.sources[i].to;
            const ParameterSource& s = p_.sources[i].source;
            if (!std::ranges::binary_search(inputs, to) || !name(to).starts_with('p')) continue;
            code += fmt::format(
                "        const double {} = value_at(ParameterSource{{{}, {}, {}, {}, {}, {}}}, point);\n",
                name(to), literal_of(s.base), literal_of(s.from), literal_of(s.to), s.intervals, s.count,
                s.stride);
        }
        return code + line.write(targets, name);
    }

    static std::string own_name(int input) { return fmt::format("p{}", input); }

    std::string keep_code() const {
        Targets targets;
        for (std::size_t i = 0; i < kept_.size(); ++i)
            targets.emplace_back(fmt::format("k[{}]", i), kept_[i]);
        return code_at_point(setup_, targets,
                             [this](int input) { return input == p_.step_size ? "size" : own_name(input); });
    }

    std::string start_code() const {
        StraightLine line = ready_line();
        line.run(p_.start);
        Targets targets;
        for (const int i : carried_) targets.emplace_back(fmt::format("m[{}]", place(i)), p_.moving + i);
        targets.emplace_back("fired", p_.fired);
        return code_at_point(line, targets, own_name);
    }

    std::string step_code() const {
        Targets targets;
        for (const int i : carried_) targets.emplace_back(fmt::format("next[{}]", place(i)), p_.moving + i);
        targets.emplace_back("fired", p_.fired);
        targets.emplace_back("too_small", p_.too_small);
        targets.emplace_back("finite", p_.finite);
        return step_.write(targets, [this](int input) {
            if (input == p_.limit) return std::string("limit");
            if (input == p_.step_size && !p_.adaptive) return std::string("size");
            if (input < p_.moving) return fmt::format("m[{}]", place(input));
            return fmt::format("k[{}]", std::ranges::find(kept_, input) - kept_.begin());
        });
    }

    std::string finish_code() const {
        StraightLine line = ready_line();
        for (int i = 0; i < p_.moving; ++i) line.input(i);
        line.run(p_.outputs);
        Targets targets;
        for (int i = 0; i < p_.output_count; ++i)
            targets.emplace_back(fmt::format("out[{}]", i), p_.first_output + i);
        targets.emplace_back("lyapunov", p_.lyapunov);
        return code_at_point(line, targets, [this](int input) {
            if (input == p_.time) return std::string("time");
            return input < p_.moving ? fmt::format("m[{}]", place(input)) : own_name(input);
        });
    }

    // A line after the setup, with the first size of the steps.
    StraightLine ready_line() const {
        StraightLine line;
        prepare(line);
        line.know(p_.limit, 1);
        line.know(p_.step_size, p_.dt);
        line.run(p_.setup);
        return line;
    }

    const Problem& p_;
    bool searches_ = false;
    StraightLine setup_, step_;
    std::vector<int> carried_;  // moving registers that lanes hold
    std::vector<int> kept_;     // registers that hold the same from step to step
};

}  // namespace

std::string point_source(const Problem& problem) {
    return PointSource(problem).write();
}

}  // namespace voltpile::ode
