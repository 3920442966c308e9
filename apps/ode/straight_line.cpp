#include "ode/straight_line.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <stdexcept>

namespace voltpile::ode {

namespace {

// The expression of an operation on the texts of its operands.
std::string expression_of(Op op, const std::string& a, const std::string& b, const std::string& c) {
    switch (op) {
        case Op::Constant:
        case Op::Symbol:
            break;
        case Op::Copy:
            return a;
        case Op::Add:
            return fmt::format("{} + {}", a, b);
        case Op::Subtract:
            return fmt::format("{} - {}", a, b);
        case Op::Multiply:
            return fmt::format("{} * {}", a, b);
        case Op::Divide:
            return fmt::format("math.quotient({}, {})", a, b);
        case Op::Negate:
            return fmt::format("-{}", a);
        case Op::Sqrt:
            return fmt::format("math.root({})", a);
        case Op::Abs:
            return fmt::format("magnitude({})", a);
        case Op::Floor:
            return fmt::format("whole_part({})", a);
        case Op::Sin:
            return fmt::format("sine({})", a);
        case Op::Cos:
            return fmt::format("cosine({})", a);
        case Op::Exp:
            return fmt::format("exponential({})", a);
        case Op::Log:
            return fmt::format("natural_logarithm({})", a);
        case Op::Tanh:
            return fmt::format("hyperbolic_tangent({})", a);
        case Op::Atan:
            return fmt::format("arc_tangent({})", a);
        case Op::Atan2:
            return fmt::format("angle_of_point({}, {})", a, b);
        case Op::Power:
            return fmt::format("general_power({}, {})", a, b);
        case Op::Min:
            return fmt::format("smaller({}, {})", a, b);
        case Op::Max:
            return fmt::format("larger({}, {})", a, b);
        case Op::Less:
            return fmt::format("{} < {} ? 1.0 : 0.0", a, b);
        case Op::NotAbove:
            return fmt::format("{} <= {} ? 1.0 : 0.0", a, b);
        case Op::Select:
            return fmt::format("{} != 0.0 ? {} : {}", a, b, c);
        case Op::MultiplyAdd:
            return fmt::format("fused({}, {}, {})", a, b, c);
        case Op::MultiplySubtract:
            return fmt::format("fused({}, {}, -{})", a, b, c);
        case Op::SubtractMultiply:
            return fmt::format("fused(-{}, {}, {})", a, b, c);
    }
    throw std::logic_error("no operation of a program");
}

}  // namespace

std::string literal_of(double value) {
    if (!std::isfinite(value))
        return fmt::format("number_of(std::uint64_t{{{:#x}}})", std::bit_cast<std::uint64_t>(value));
    return std::signbit(value) ? fmt::format("({:a})", value) : fmt::format("{:a}", value);
}

void StraightLine::know(int to, double value) {
    held_[to] = static_cast<int>(values_.size());
    values_.push_back({.known = true, .number = value});
}

void StraightLine::input(int to) {
    held_[to] = static_cast<int>(values_.size());
    values_.push_back({.op = Op::Symbol, .input = to});
}

std::size_t StraightLine::at(int from) const {
    const auto found = held_.find(from);
    return found == held_.end() ? 0 : static_cast<std::size_t>(found->second);
}

int StraightLine::value_of(int from) {
    return static_cast<int>(at(from));
}

void StraightLine::run(ProgramView program) {
    for (int i = 0; i < program.size; ++i) {
        const Instruction& instruction = program.code[i];
        const int count = operands(instruction.op);
        Value value{.op = instruction.op};
        value.a = value_of(instruction.a);
        if (count > 1) value.b = value_of(instruction.b);
        if (count > 2) value.c = value_of(instruction.c);
        const auto operand = [this](int of) {
            return of < 0 ? Value{} : values_[static_cast<std::size_t>(of)];
        };
        const Value a = operand(value.a), b = operand(value.b), c = operand(value.c);
        value.known = a.known && (count < 2 || b.known) && (count < 3 || c.known);
        if (value.known) value.number = compute(instruction.op, a.number, b.number, c.number);
        if (instruction.op == Op::Copy) {
            held_[instruction.to] = value.a;
            continue;
        }
        if (instruction.op == Op::Select && a.known) {
            held_[instruction.to] = a.number != 0 ? value.b : value.c;
            continue;
        }
        held_[instruction.to] = static_cast<int>(values_.size());
        values_.push_back(value);
    }
}

std::vector<bool> StraightLine::needed_for(std::span<const int> registers) const {
    std::vector<bool> needed(values_.size());
    for (const int from : registers) needed[at(from)] = true;
    for (std::size_t i = values_.size(); i-- > 0;) {
        const Value& value = values_[i];
        if (!needed[i] || value.known) continue;
        for (const int operand : {value.a, value.b, value.c})
            if (operand >= 0) needed[static_cast<std::size_t>(operand)] = true;
    }
    return needed;
}

std::vector<int> StraightLine::inputs_of(std::span<const int> registers) const {
    const std::vector<bool> needed = needed_for(registers);
    std::map<int, bool> inputs;
    for (std::size_t i = 0; i < needed.size(); ++i)
        if (needed[i] && values_[i].input >= 0) inputs[values_[i].input] = true;
    std::vector<int> result;
    for (const auto& [input, used] : inputs) result.push_back(input);
    return result;
}

std::string StraightLine::write(std::span<const std::pair<std::string, int>> targets,
                                const std::function<std::string(int)>& name) const {
    std::vector<int> registers;
    for (const auto& [place, from] : targets) registers.push_back(from);
    const std::vector<bool> needed = needed_for(registers);
    const auto text = [&](int of) {
        if (of < 0) return std::string();
        const Value& value = values_[static_cast<std::size_t>(of)];
        if (value.known) return literal_of(value.number);
        return value.input >= 0 ? name(value.input) : fmt::format("v{}", of);
    };
    std::string code;
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const Value& value = values_[i];
        if (!needed[i] || value.known || value.input >= 0) continue;
        code += fmt::format("        const double v{} = {};\n", i,
                            expression_of(value.op, text(value.a), text(value.b), text(value.c)));
    }
    for (const auto& [place, from] : targets)
        code += fmt::format("        {} = {};\n", place, text(static_cast<int>(at(from))));
    return code;
}

}  // namespace voltpile::ode
