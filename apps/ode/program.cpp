#include "ode/program.h"

#include <fmt/format.h>

#include "base/error.h"

namespace voltpile::ode {

// Writes one program: nodes in rising order, so operands come first.
class ProgramWriter {
  public:
    ProgramWriter(Assembler& assembler, std::span<const std::pair<int, int>> targets)
        : assembler_(assembler), graph_(assembler.graph_), targets_(targets) {}

    Program write() {
        count_uses();
        for (const auto& [node, to] : targets_)
            if (!is_fixed(node)) target_of_.try_emplace(node, to);
        for (int i = 0; i < graph_.size(); ++i)
            if (uses_[index(i)] > 0 && !is_fixed(i)) write_node(i);
        for (const auto& [node, to] : targets_) {
            const int from = place(node);
            if (from != to) emit({Op::Copy, small(to), small(from), 0, 0});
        }
        for (const int temporary : taken_) assembler_.temporaries_.push_back(temporary);
        return std::move(program_);
    }

  private:
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    static std::uint16_t small(int i) { return static_cast<std::uint16_t>(i); }
    void emit(const Instruction& instruction) { program_.push_back(instruction); }

    bool is_fixed(int node) const {
        const Op op = graph_.node(node).op;
        return op == Op::Constant || op == Op::Symbol || assembler_.fixed_.contains(node);
    }

    void count_uses() {
        uses_.assign(index(graph_.size()), 0);
        place_.assign(index(graph_.size()), -1);
        for (const auto& [node, to] : targets_) ++uses_[index(node)];
        for (int i = graph_.size() - 1; i >= 0; --i) {
            if (uses_[index(i)] == 0 || is_fixed(i)) continue;
            for (int k = 0; k < operands(graph_.node(i).op); ++k) ++uses_[index(graph_.node(i).operand[k])];
        }
    }

    void write_node(int i) {
        const Node& node = graph_.node(i);
        Instruction instruction{.op = node.op};
        std::uint16_t* const fields[3] = {&instruction.a, &instruction.b, &instruction.c};
        for (int k = 0; k < operands(node.op); ++k) *fields[k] = small(place(node.operand[k]));
        for (int k = 0; k < operands(node.op); ++k) release(node.operand[k]);
        const auto target = target_of_.find(i);
        const int to = target != target_of_.end() ? target->second : take();
        place_[index(i)] = to;
        instruction.to = small(to);
        emit(instruction);
    }

    int place(int node) {
        const Node& what = graph_.node(node);
        if (what.op == Op::Symbol) return what.operand[0];
        if (what.op == Op::Constant) return assembler_.register_of_constant(node);
        const auto found = assembler_.fixed_.find(node);
        return found != assembler_.fixed_.end() ? found->second : place_[index(node)];
    }

    int take() {
        const int temporary = assembler_.take();
        taken_.push_back(temporary);
        return temporary;
    }

    // One read less of a node: its register is free after the last one.
    void release(int node) {
        if (is_fixed(node) || --uses_[index(node)] > 0 || target_of_.contains(node)) return;
        const int temporary = place_[index(node)];
        std::erase(taken_, temporary);
        assembler_.temporaries_.push_back(temporary);
    }

    Assembler& assembler_;
    const Graph& graph_;
    std::span<const std::pair<int, int>> targets_;
    std::map<int, int> target_of_;
    std::vector<int> uses_;   // reads that are left
    std::vector<int> place_;  // register of each node
    std::vector<int> taken_;  // temporaries in use
    Program program_;
};

Program Assembler::write(std::span<const std::pair<int, int>> targets) {
    return ProgramWriter(*this, targets).write();
}

int Assembler::take() {
    if (!temporaries_.empty()) {
        const int temporary = temporaries_.back();
        temporaries_.pop_back();
        return temporary;
    }
    if (registers_ >= kMostRegisters)
        throw JobError(fmt::format("the equations need more than {} intermediate values", kMostRegisters));
    return registers_++;
}

int Assembler::register_of_constant(int node) {
    const auto [found, added] = fixed_.try_emplace(node, registers_);
    if (added) {
        constants_.emplace_back(registers_, graph_.node(node).value);
        ++registers_;
    }
    return found->second;
}

double operation_count(const Program& program) {
    double count = 0;
    for (const Instruction& instruction : program) {
        switch (instruction.op) {
            case Op::MultiplyAdd:
            case Op::MultiplySubtract:
            case Op::SubtractMultiply:
                count += 2;
                break;
            case Op::Sin:
            case Op::Cos:
            case Op::Exp:
            case Op::Log:
            case Op::Tanh:
                count += 30;
                break;
            case Op::Atan:
            case Op::Atan2:
            case Op::Power:
                count += 60;
                break;
            case Op::Divide:
            case Op::Sqrt:
                count += 8;
                break;
            default:
                count += 1;
        }
    }
    return count;
}

}  // namespace voltpile::ode
