#include "ode/step_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ode/contraction.h"
#include "ode/runge_kutta.h"

namespace voltpile::ode {

namespace {

constexpr double kSafety = 0.9, kLeastFactor = 0.2, kMostFactor = 5;  // of the size of adaptive steps
constexpr double kLeastStep = 1e-14;                                  // relative to the times

class SystemBuilder {
  public:
    SystemBuilder(Model& model, const Integration& how)
        : model_(model), graph_(model.graph), how_(how), states_(model.states.size()) {}

    System build() {
        name_registers();
        if (how_.lyapunov) add_tangents();
        const std::vector<Target> start = shortened(start_targets()), step = shortened(step_targets()),
                                  outputs = shortened(output_targets());
        Assembler assembler(graph_, registers_);
        system_.setup = hoist(assembler, {&start, &step, &outputs});
        system_.start = assembler.write(start);
        system_.step = assembler.write(step);
        system_.outputs = assembler.write(outputs);
        for (const auto& [to, value] : assembler.constants()) system_.constants.push_back({to, value});
        problem_.registers = assembler.registers();
        if (problem_.registers > kMostRegisters)
            throw JobError(fmt::format("the equations need more than {} constants and intermediate values",
                                       kMostRegisters));
        problem_.operations_per_step = operation_count(system_.step);
        system_.connect();
        return std::move(system_);
    }

  private:
    using Target = std::pair<int, int>;

    int add(int a, int b) { return graph_.apply(Op::Add, a, b); }
    int subtract(int a, int b) { return graph_.apply(Op::Subtract, a, b); }
    int times(int a, int b) { return graph_.apply(Op::Multiply, a, b); }
    int choose(int condition, int yes, int no) { return graph_.apply(Op::Select, condition, yes, no); }
    int number(double value) { return graph_.constant(value); }

    void name_registers() {
        problem_.adaptive = how_.adaptive;
        problem_.t_begin = how_.t_begin;
        problem_.t_end = how_.t_end;
        problem_.dt = how_.dt;
        problem_.whole_steps = how_.whole_steps;
        problem_.max_steps = how_.max_steps;
        all_ = how_.lyapunov ? 2 * states_ : states_;  // tangents follow the states
        int next = static_cast<int>(all_);
        stretch_ = next;
        span_ = next + 1;
        if (how_.lyapunov) next += 2;
        problem_.time = next++;
        problem_.steps = next++;
        if (how_.adaptive) problem_.step_size = next++;
        first_rate_ = next;
        if (how_.adaptive) next += static_cast<int>(all_);
        problem_.moving = next;
        next *= 2;
        if (!how_.adaptive) problem_.step_size = next++;
        problem_.limit = next++;
        problem_.most_steps = next++;
        problem_.alarm = next++;
        problem_.fired = next++;
        problem_.finite = next++;
        problem_.too_small = next++;
        system_.first_parameter = next;
        next += static_cast<int>(model_.parameters.size());
        problem_.first_output = next;
        problem_.output_count = static_cast<int>(model_.outputs.size());
        next += problem_.output_count;
        problem_.lyapunov = next++;
        registers_ = problem_.named = next;

        h_ = graph_.symbol(problem_.step_size);
        t_ = graph_.symbol(problem_.time);
        for (std::size_t i = 0; i < all_; ++i) x_.push_back(graph_.symbol(static_cast<int>(i)));
        rates_ = graph_.substitute(model_.rates, by_symbol(x_, t_));
    }

    // Returns what the model's symbols stand for.
    std::vector<int> by_symbol(const std::vector<int>& x, int t) {
        std::vector<int> nodes(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(states_));
        for (std::size_t i = 0; i < model_.parameters.size(); ++i)
            nodes.push_back(graph_.symbol(system_.first_parameter + static_cast<int>(i)));
        nodes.push_back(t);
        return nodes;
    }

    void add_tangents() {
        std::vector<int> direction(x_.begin() + static_cast<std::ptrdiff_t>(states_), x_.end());
        const std::vector<int> derivatives = graph_.derivatives(rates_, direction);
        rates_.insert(rates_.end(), derivatives.begin(), derivatives.end());
    }

    std::vector<int> rates_at(const std::vector<int>& x, int t) {
        std::vector<int> nodes = x;
        nodes.resize(static_cast<std::size_t>(problem_.time) + 1, -1);
        nodes[static_cast<std::size_t>(problem_.time)] = t;
        return graph_.substitute(rates_, nodes);
    }

    // Returns 1, 2, ... for the first event that holds, 0 for none.
    int fired_at(const std::vector<int>& x, int t) {
        std::vector<int> roots;
        for (const NamedNode& event : model_.events) roots.push_back(event.node);
        roots = graph_.substitute(roots, by_symbol(x, t));
        int result = number(0);
        for (std::size_t i = roots.size(); i-- > 0;)
            result = choose(roots[i], number(static_cast<double>(i + 1)), result);
        return result;
    }

    std::vector<Target> start_targets() {
        std::vector<Target> targets;
        const auto move = [&](int to, int node) { targets.emplace_back(node, problem_.moving + to); };
        std::vector<int> x = x_;
        const int direction = number(1 / std::sqrt(static_cast<double>(states_)));
        for (std::size_t i = states_; i < all_; ++i) x[i] = direction;
        for (std::size_t i = 0; i < all_; ++i) move(static_cast<int>(i), x[i]);
        if (how_.lyapunov) {
            move(stretch_, number(0));
            move(span_, number(0));
        }
        const int t = number(how_.t_begin);
        move(problem_.time, t);
        move(problem_.steps, number(0));
        if (how_.adaptive) {
            const std::vector<int> rates = rates_at(x, t);
            for (std::size_t i = 0; i < all_; ++i) move(first_rate_ + static_cast<int>(i), rates[i]);
            move(problem_.step_size, first_step(x, rates));
        }
        targets.emplace_back(fired_at(x, t), problem_.fired);
        return targets;
    }

    // The mean square of the ratios of values and scales. Tangents count, too: where the states have come to
    // rest, their errors no longer limit the steps.
    int norm_squared(const std::vector<int>& values, const std::vector<int>& scales) {
        int sum = -1;
        for (std::size_t i = 0; i < all_; ++i) {
            const int ratio = graph_.apply(Op::Divide, values[i], scales[i]);
            const int square = times(ratio, ratio);
            sum = sum < 0 ? square : add(sum, square);
        }
        return times(sum, number(1 / static_cast<double>(all_)));
    }

    // abs + rel max(|a|, |b|) for each state.
    std::vector<int> scales_of(const std::vector<int>& a, const std::vector<int>& b) {
        std::vector<int> scales;
        for (std::size_t i = 0; i < all_; ++i) {
            const int size = graph_.apply(Op::Max, graph_.apply(Op::Abs, a[i]), graph_.apply(Op::Abs, b[i]));
            scales.push_back(add(number(how_.absolute_tolerance), times(number(how_.tolerance), size)));
        }
        return scales;
    }

    // A first step that changes the states by 1 % (E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary
    // Differential Equations I, II.4).
    int first_step(const std::vector<int>& x, const std::vector<int>& rates) {
        const std::vector<int> scales = scales_of(x, x);
        const int size = graph_.apply(Op::Sqrt, norm_squared(x, scales));
        const int speed = graph_.apply(Op::Sqrt, norm_squared(rates, scales));
        const int least = graph_.apply(Op::Min, size, speed);
        const int ratio = graph_.apply(Op::Divide, times(number(0.01), size), speed);
        const double span = how_.t_end - how_.t_begin;
        const int h = choose(graph_.apply(Op::Less, least, number(1e-5)), number(1e-6 * span), ratio);
        return graph_.apply(Op::Min, h, number(span));
    }

    std::vector<Target> step_targets() {
        const int steps = graph_.symbol(problem_.steps);
        const int done = add(steps, number(1));
        const Rates rates = [this](const std::vector<int>& x, int t) { return rates_at(x, t); };
        std::vector<int> k1;
        for (std::size_t i = 0; i < all_ && how_.adaptive; ++i)
            k1.push_back(graph_.symbol(first_rate_ + static_cast<int>(i)));
        RungeKuttaStep step = how_.adaptive ? dormand_prince_step(graph_, rates, x_, k1, t_, h_)
                                            : classical_step(graph_, rates, x_, t_, h_);
        int taken = -1, next_t = -1, next_h = -1, too_small = number(0), ended = -1;
        if (how_.adaptive) {
            const int error = norm_squared(step.errors, scales_of(x_, step.x));
            taken = graph_.apply(Op::NotAbove, error, graph_.symbol(problem_.limit));
            const int left = subtract(number(how_.t_end), t_);
            const int reached = choose(graph_.apply(Op::NotAbove, left, h_), number(how_.t_end), add(t_, h_));
            next_t = choose(taken, reached, t_);
            const int wanted = times(
                number(kSafety), graph_.apply(Op::Exp, times(number(-0.1), graph_.apply(Op::Log, error))));
            const int bounded = graph_.apply(Op::Max, number(kLeastFactor),
                                             graph_.apply(Op::Min, wanted, number(kMostFactor)));
            const int finite = graph_.apply(Op::NotAbove, error, number(1e300));
            const int size = times(h_, choose(finite, bounded, number(kLeastFactor)));
            const double times_size = std::max(std::abs(how_.t_begin), std::abs(how_.t_end));
            too_small = graph_.apply(Op::Less, size, number(kLeastStep * times_size));
            next_h = graph_.apply(Op::Min, size, subtract(number(how_.t_end), next_t));
            ended = graph_.apply(Op::NotAbove, number(how_.t_end), next_t);
        } else {
            const int whole = add(number(how_.t_begin), times(done, number(how_.dt)));
            next_t = choose(graph_.apply(Op::Less, h_, number(how_.dt)), add(t_, h_), whole);
            ended = graph_.apply(Op::NotAbove, number(how_.whole_steps), done);
        }
        std::vector<Target> targets;
        if (how_.lyapunov) renormalize(step, next_t, taken, targets);
        const auto move = [&](int to, int after, int before) {
            targets.emplace_back(taken < 0 ? after : choose(taken, after, before), problem_.moving + to);
            return targets.back().first;
        };
        std::vector<int> next;
        for (std::size_t i = 0; i < all_; ++i) next.push_back(move(static_cast<int>(i), step.x[i], x_[i]));
        for (std::size_t i = 0; i < k1.size(); ++i)
            move(first_rate_ + static_cast<int>(i), step.rates[i], k1[i]);
        targets.emplace_back(next_t, problem_.moving + problem_.time);
        targets.emplace_back(done, problem_.moving + problem_.steps);
        if (how_.adaptive) targets.emplace_back(next_h, problem_.moving + problem_.step_size);

        int sum = next[0];
        for (std::size_t i = 1; i < all_; ++i) sum = add(sum, next[i]);
        const int finite = times(number(0), sum);
        const int fired = fired_at(next, next_t);
        const int spent = graph_.apply(Op::NotAbove, graph_.symbol(problem_.most_steps), done);
        const int alarm = add(add(add(fired, ended), add(spent, too_small)), finite);
        targets.emplace_back(fired, problem_.fired);
        targets.emplace_back(finite, problem_.finite);
        targets.emplace_back(too_small, problem_.too_small);
        targets.emplace_back(alarm, problem_.alarm);
        return targets;
    }

    // Makes the tangent a unit vector again and adds the logarithm of its length.
    void renormalize(RungeKuttaStep& step, int next_t, int taken, std::vector<Target>& targets) {
        int length = -1;
        for (std::size_t i = states_; i < all_; ++i) {
            const int square = times(step.x[i], step.x[i]);
            length = length < 0 ? square : add(length, square);
        }
        const int inverse = graph_.apply(Op::Divide, number(1), graph_.apply(Op::Sqrt, length));
        for (std::size_t i = states_; i < all_; ++i) {
            step.x[i] = times(step.x[i], inverse);
            if (!step.rates.empty()) step.rates[i] = times(step.rates[i], inverse);
        }
        const int early = graph_.apply(Op::Less, t_, number(how_.lyapunov_from));
        int more = choose(early, number(0), times(number(0.5), graph_.apply(Op::Log, length)));
        if (taken >= 0) more = choose(taken, more, number(0));
        targets.emplace_back(add(graph_.symbol(stretch_), more), problem_.moving + stretch_);
        const int time = choose(early, number(0), subtract(next_t, t_));
        targets.emplace_back(add(graph_.symbol(span_), time), problem_.moving + span_);
    }

    std::vector<Target> output_targets() {
        std::vector<int> roots;
        for (const NamedNode& output : model_.outputs) roots.push_back(output.node);
        roots = graph_.substitute(roots, by_symbol(x_, t_));
        std::vector<Target> targets;
        for (std::size_t i = 0; i < roots.size(); ++i)
            targets.emplace_back(roots[i], problem_.first_output + static_cast<int>(i));
        if (how_.lyapunov) {
            const int span = graph_.symbol(span_);
            const int rate = graph_.apply(Op::Divide, graph_.symbol(stretch_), span);
            targets.emplace_back(choose(graph_.apply(Op::Less, number(0), span), rate, number(0)),
                                 problem_.lyapunov);
        }
        return targets;
    }

    bool is_moving(int symbol) const { return symbol < problem_.moving || symbol == problem_.limit; }

    std::vector<Target> shortened(std::vector<Target> targets) {
        std::vector<int> roots;
        for (const auto& [node, to] : targets) roots.push_back(node);
        roots = contracted(graph_, roots, [this](int symbol) { return is_moving(symbol); });
        for (std::size_t i = 0; i < roots.size(); ++i) targets[i].first = roots[i];
        return targets;
    }

    // Gives what depends on no moving register a register of its own; returns the program that computes it.
    Program hoist(Assembler& assembler, std::initializer_list<const std::vector<Target>*> programs) {
        std::vector<int> roots;
        for (const auto* targets : programs)
            for (const auto& [node, to] : *targets) roots.push_back(node);
        const std::vector<bool> needed = graph_.needed_for(roots);
        std::vector<bool> moves(needed.size()), wanted(needed.size());
        const auto simple = [&](int i) {
            return graph_.node(i).op == Op::Constant || graph_.node(i).op == Op::Symbol;
        };
        for (std::size_t i = 0; i < needed.size(); ++i) {
            const Node& node = graph_.node(static_cast<int>(i));
            if (node.op == Op::Symbol) moves[i] = is_moving(node.operand[0]);
            for (int k = 0; k < operands(node.op); ++k)
                if (moves[static_cast<std::size_t>(node.operand[k])]) moves[i] = true;
            for (int k = 0; k < operands(node.op) && needed[i] && moves[i]; ++k) {
                const auto operand = static_cast<std::size_t>(node.operand[k]);
                if (!moves[operand] && !simple(node.operand[k])) wanted[operand] = true;
            }
        }
        std::vector<Target> targets;
        for (std::size_t i = 0; i < wanted.size(); ++i)
            if (wanted[i]) targets.emplace_back(static_cast<int>(i), assembler.reserve());
        Program setup = assembler.write(targets);
        for (const auto& [node, to] : targets) assembler.fix(node, to);
        return setup;
    }

    Model& model_;
    Graph& graph_;
    const Integration how_;
    const std::size_t states_;
    std::size_t all_ = 0;  // states and tangents
    System system_;
    Problem& problem_ = system_.problem;
    int stretch_ = 0, span_ = 0, first_rate_ = 0, registers_ = 0;
    int t_ = -1, h_ = -1;
    std::vector<int> x_, rates_;
};

}  // namespace

void System::connect() {
    const auto view = [](const Program& program) {
        return ProgramView{program.data(), static_cast<int>(program.size())};
    };
    problem.setup = view(setup);
    problem.start = view(start);
    problem.step = view(step);
    problem.outputs = view(outputs);
    problem.constants = constants.data();
    problem.constant_count = static_cast<int>(constants.size());
}

System make_system(Model& model, const Integration& integration) {
    return SystemBuilder(model, integration).build();
}

}  // namespace voltpile::ode
