// Expressions as a linear program over registers. Each register holds one number for every lane of a block.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "ode/graph.h"

namespace voltpile::ode {

struct Instruction {
    Op op = Op::Copy;
    std::uint16_t to = 0;
    std::uint16_t a = 0, b = 0, c = 0;  // registers of the operands; unused ones are 0
};

using Program = std::vector<Instruction>;

inline constexpr int kMostRegisters = 8192;

// Gives nodes their registers and writes programs. Symbols and constants have fixed registers; temporary
// values share the others, and all programs share those.
class Assembler {
  public:
    // first: the first register that symbols do not use. Symbol s is register s. Keeps a reference.
    Assembler(Graph& graph, int first) : graph_(graph), registers_(first) {}

    int reserve() { return registers_++; }

    // Gives a node a fixed register, which the caller fills before programs that use it run.
    void fix(int node, int to) { fixed_[node] = to; }

    // Returns a program that writes each node to a register. A target may not be read by the same program.
    // Throws JobError if the program needs more than kMostRegisters.
    Program write(std::span<const std::pair<int, int>> targets);

    // The constants of all programs so far, with their registers.
    const std::vector<std::pair<int, double>>& constants() const { return constants_; }

    int registers() const { return registers_; }

  private:
    friend class ProgramWriter;
    int take();
    int register_of_constant(int node);

    Graph& graph_;
    int registers_;
    std::map<int, int> fixed_;  // by node
    std::vector<std::pair<int, double>> constants_;
    std::vector<int> temporaries_;  // that are free
};

// Floating-point operations of a program, on one lane; a function counts as about as many as it takes.
double operation_count(const Program& program);

}  // namespace voltpile::ode
