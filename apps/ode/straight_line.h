// Programs as statements of C++, without registers: what is known is computed, and what nothing needs left
// out.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ode/problem.h"

namespace voltpile::ode {

class StraightLine {
  public:
    StraightLine() { values_.push_back({.known = true}); }

    // A register holds this number.
    void know(int to, double value);
    // A register holds a number that is known only when the statements run.
    void input(int to);
    // Registers that neither these functions nor a program have written hold 0.
    void run(ProgramView program);

    bool is_known(int from) const { return values_[at(from)].known; }
    double known(int from) const { return values_[at(from)].number; }

    // Returns the input registers that the values of these registers depend on, in rising order.
    std::vector<int> inputs_of(std::span<const int> registers) const;

    // Returns statements that assign registers to places such as "next[0]", in the arithmetic of functions.h
    // and of an object `math` (quick_math.h). name: the text of an input register.
    std::string write(std::span<const std::pair<std::string, int>> targets,
                      const std::function<std::string(int)>& name) const;

  private:
    struct Value {
        Op op = Op::Constant;  // Symbol: an input
        int a = -1, b = -1, c = -1;
        bool known = false;
        double number = 0;
        int input = -1;  // its register
    };

    std::size_t at(int from) const;
    int value_of(int from);
    std::vector<bool> needed_for(std::span<const int> registers) const;

    std::vector<Value> values_;  // the first is 0; operands come before their use
    std::map<int, int> held_;    // by register, the value that it holds
};

// Returns a literal of this number.
std::string literal_of(double value);

}  // namespace voltpile::ode
