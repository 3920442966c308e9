#include "ode/native_step.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>
#include <vector>

#include "ode/x86_code.h"

namespace voltpile::ode {

namespace {

constexpr int kNever = std::numeric_limits<int>::max();

// Translates instruction by instruction. A program's register has a place in memory; SIMD registers hold the
// values that are read soonest. The value that is read last makes room (L. A. Belady, IBM Syst. J. 5, 78
// (1966)), and goes to memory only if it is read again.
class StepTranslator {
  public:
    StepTranslator(const Problem& problem, CpuLevel level, PackFunctions pack_functions)
        : p_(problem),
          functions_(pack_functions),
          code_(level == CpuLevel::Avx512),
          pool_(code_.registers() - kScratch),
          slots_(static_cast<std::size_t>(pool_)),
          slot_of_(static_cast<std::size_t>(problem.registers), -1),
          scratch_{pool_, pool_ + 1} {}

    std::vector<std::uint8_t> translate() {
        find_uses();
        code_.begin();
        for (now_ = 0; now_ < p_.step.size; ++now_) translate(p_.step.code[now_]);
        pinned_ = 0;
        code_.leave_on_alarm(in_register(p_.alarm, kNever), scratch_);
        for (int i = 0; i < p_.moving; ++i) {
            pinned_ = 0;
            code_.store(in_register(p_.moving + i, kNever), i);
        }
        code_.end();
        return code_.bytes();
    }

  private:
    static constexpr int kScratch = 2;
    static constexpr int kSoon =
        24;  // instructions: a value from memory that is read again becomes a register

    struct Slot {
        int holds = -1;  // a register of the program
        int next_use = kNever;
        bool dirty = false;  // memory has not the value
    };
    struct Uses {
        int of_operand[3] = {kNever, kNever, kNever};  // next one after this instruction
        int of_result = kNever;
    };

    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
    static int operand_of(const Instruction& instruction, int k) {
        return k == 0 ? instruction.a : k == 1 ? instruction.b : instruction.c;
    }
    // What follows the program reads these.
    bool is_named(int number) const { return number < p_.named; }

    void find_uses() {
        uses_.resize(at(p_.step.size));
        std::vector<int> next(at(p_.registers), kNever);
        for (int i = 0; i < p_.moving; ++i) next[at(p_.moving + i)] = p_.step.size;
        next[at(p_.alarm)] = p_.step.size;
        for (int i = p_.step.size - 1; i >= 0; --i) {
            const Instruction& instruction = p_.step.code[i];
            Uses& uses = uses_[at(i)];
            uses.of_result = next[instruction.to];
            next[instruction.to] = kNever;
            for (int k = 0; k < operands(instruction.op); ++k)
                uses.of_operand[k] = next[at(operand_of(instruction, k))];
            for (int k = 0; k < operands(instruction.op); ++k) next[at(operand_of(instruction, k))] = i;
        }
    }

    Operand reg(int slot) const { return {Operand::Register, slot}; }

    void pin(int slot) { pinned_ |= 1U << slot; }

    void drop(int slot) {
        if (slots_[at(slot)].holds >= 0) slot_of_[at(slots_[at(slot)].holds)] = -1;
        slots_[at(slot)] = {};
    }

    // Returns a SIMD register that is free, and pins it.
    int take() {
        int best = -1;
        for (int i = 0; i < pool_; ++i) {
            if (pinned_ >> i & 1) continue;
            if (slots_[at(i)].holds < 0) {
                best = i;
                break;
            }
            if (best < 0 || slots_[at(i)].next_use > slots_[at(best)].next_use) best = i;
        }
        const Slot& slot = slots_[at(best)];
        if (slot.holds >= 0 && slot.dirty && slot.next_use != kNever) code_.store(best, slot.holds);
        drop(best);
        pin(best);
        return best;
    }

    void hold(int slot, int number, int next_use, bool dirty) {
        slots_[at(slot)] = {number, next_use, dirty};
        slot_of_[at(number)] = slot;
    }

    // Returns the SIMD register with a value, loaded if need be, and pins it.
    int in_register(int number, int next_use) {
        int slot = slot_of_[at(number)];
        if (slot < 0) {
            slot = take();
            code_.load(slot, {Operand::Memory, number});
            hold(slot, number, next_use, false);
        }
        slots_[at(slot)].next_use = next_use;
        pin(slot);
        return slot;
    }

    // The same, but memory where the value is not read soon.
    Operand anywhere(int number, int next_use) {
        if (slot_of_[at(number)] >= 0 || next_use - now_ < kSoon) return reg(in_register(number, next_use));
        return {Operand::Memory, number};
    }

    // Values that nothing reads any more make room.
    void release_dead() {
        for (int i = 0; i < pool_; ++i)
            if (slots_[at(i)].holds >= 0 && slots_[at(i)].next_use == kNever) {
                pinned_ &= ~(1U << i);
                drop(i);
            }
    }

    // Takes a SIMD register for the result of the instruction.
    int take_result(const Instruction& instruction) {
        if (slot_of_[instruction.to] >= 0) {
            pinned_ &= ~(1U << slot_of_[instruction.to]);
            drop(slot_of_[instruction.to]);
        }
        return take();
    }

    void finish(const Instruction& instruction, int slot) {
        const bool named = is_named(instruction.to);
        if (named) code_.store(slot, instruction.to);
        if (uses().of_result == kNever)
            drop(slot);
        else
            hold(slot, instruction.to, uses().of_result, !named);
    }

    const Uses& uses() const { return uses_[at(now_)]; }

    void translate(const Instruction& instruction) {
        using Opcode = X86Code::Opcode;
        pinned_ = 0;
        switch (instruction.op) {
            case Op::Constant:
            case Op::Symbol:
                return;
            case Op::Copy:
                return one(instruction, [&](int to, Operand a) { code_.load(to, a); });
            case Op::Add:
                return two(instruction, {1, 0x58}, true);
            case Op::Subtract:
                return two(instruction, {1, 0x5C}, false);
            case Op::Multiply:
                return two(instruction, {1, 0x59}, true);
            case Op::Divide:
                return two(instruction, {1, 0x5E}, false);
            case Op::Min:
                return two(instruction, {1, 0x5D}, false);
            case Op::Max:
                return two(instruction, {1, 0x5F}, false);
            case Op::Negate:
                return with_literal(instruction, {1, 0x57}, X86Code::kSignBit);
            case Op::Abs:
                return with_literal(instruction, {1, 0x54}, X86Code::kAllButSign);
            case Op::Sqrt:
                return one(instruction, [&](int to, Operand a) { code_.vector({1, 0x51}, to, 0, a); });
            case Op::Floor:
                // vroundpd or vrndscalepd, down and without exceptions
                return one(instruction, [&](int to, Operand a) {
                    code_.vector(Opcode{3, 0x09, code_.wide()}, to, 0, a, 9);
                });
            case Op::Less:
                return compare(instruction, X86Code::kLess);
            case Op::NotAbove:
                return compare(instruction, X86Code::kNotAbove);
            case Op::Select:
                return select(instruction);
            case Op::MultiplyAdd:
                return multiply_add(instruction, 0x98);
            case Op::MultiplySubtract:
                return multiply_add(instruction, 0x9A);
            case Op::SubtractMultiply:
                return multiply_add(instruction, 0x9C);
            case Op::Sin:
            case Op::Cos:
            case Op::Exp:
            case Op::Log:
            case Op::Tanh:
            case Op::Atan:
            case Op::Atan2:
            case Op::Power:
                return call(instruction);
        }
    }

    template <class Emit>
    void one(const Instruction& instruction, const Emit& emit) {
        const Operand a = anywhere(instruction.a, uses().of_operand[0]);
        release_dead();
        const int to = take_result(instruction);
        emit(to, a);
        finish(instruction, to);
    }

    void with_literal(const Instruction& instruction, X86Code::Opcode opcode, int literal) {
        const int a = in_register(instruction.a, uses().of_operand[0]);
        release_dead();
        const int to = take_result(instruction);
        code_.vector(opcode, to, a, {Operand::Literal, literal});
        finish(instruction, to);
    }

    void two(const Instruction& instruction, X86Code::Opcode opcode, bool commutative) {
        int a = instruction.a, b = instruction.b, a_use = uses().of_operand[0], b_use = uses().of_operand[1];
        if (commutative && slot_of_[at(a)] < 0 && slot_of_[at(b)] >= 0) {
            std::swap(a, b);
            std::swap(a_use, b_use);
        }
        const int first = in_register(a, a_use);
        const Operand second = anywhere(b, b_use);
        release_dead();
        const int to = take_result(instruction);
        code_.vector(opcode, to, first, second);
        finish(instruction, to);
    }

    void compare(const Instruction& instruction, X86Code::Compare how) {
        const int a = in_register(instruction.a, uses().of_operand[0]);
        const Operand b = anywhere(instruction.b, uses().of_operand[1]);
        release_dead();
        const int to = take_result(instruction);
        code_.compare(how, to, a, b, scratch_[0]);
        finish(instruction, to);
    }

    void select(const Instruction& instruction) {
        int slot[3];
        for (int k = 0; k < 3; ++k) slot[k] = in_register(operand_of(instruction, k), uses().of_operand[k]);
        release_dead();
        const int to = take_result(instruction);
        code_.select(to, slot[0], slot[1], slot[2], scratch_);
        finish(instruction, to);
    }

    // The operation overwrites one of its operands: one that nothing reads any more, or a copy of c.
    // first_form: the opcode of to = to * rm + vvvv; 0x10 and 0x20 more are to = vvvv * to + rm and
    // to = vvvv * rm + to.
    void multiply_add(const Instruction& instruction, std::uint8_t first_form) {
        int a = instruction.a, b = instruction.b, a_use = uses().of_operand[0], b_use = uses().of_operand[1];
        const int c = instruction.c, c_use = uses().of_operand[2];
        const auto form = [&](int more) {
            return X86Code::Opcode{2, static_cast<std::uint8_t>(first_form + more)};
        };
        const auto dies_in_register = [&](int number, int use) {
            return slot_of_[at(number)] >= 0 && use == kNever;
        };
        if (slot_of_[at(a)] < 0 || (dies_in_register(b, b_use) && !dies_in_register(a, a_use))) {
            std::swap(a, b);
            std::swap(a_use, b_use);
        }
        if (!dies_in_register(c, c_use) && dies_in_register(a, a_use) && a != b && a != c) {
            const int to = in_register(a, a_use);
            const int first = in_register(b, b_use);
            const Operand added = anywhere(c, c_use);
            overwrite(instruction, to, form(0x10), first, added);
            return;
        }
        const bool copies = !dies_in_register(c, c_use) || c == a || c == b;
        const int first = in_register(a, a_use);
        const Operand second = anywhere(b, b_use);
        int to = 0;
        if (copies) {
            const Operand added = anywhere(c, c_use);
            to = take();
            code_.load(to, added);
        } else {
            to = in_register(c, c_use);
        }
        overwrite(instruction, to, form(0x20), first, second);
    }

    void overwrite(const Instruction& instruction, int to, X86Code::Opcode opcode, int first,
                   Operand second) {
        code_.vector(opcode, to, first, second);
        drop(to);
        release_dead();
        if (slot_of_[instruction.to] >= 0) drop(slot_of_[instruction.to]);
        finish(instruction, to);
    }

    // Values that are still read go to memory: a function changes all SIMD registers.
    void call(const Instruction& instruction) {
        for (int i = 0; i < pool_; ++i) {
            const Slot& slot = slots_[at(i)];
            if (slot.holds < 0) continue;
            const bool is_operand = slot.holds == instruction.a || slot.holds == instruction.b;
            if (slot.dirty && (slot.next_use != kNever || is_operand)) code_.store(i, slot.holds);
            drop(i);
        }
        code_.call(functions_(instruction.op), instruction.to, instruction.a, instruction.b);
    }

    const Problem& p_;
    const PackFunctions functions_;
    X86Code code_;
    const int pool_;  // SIMD registers that hold values
    std::vector<Slot> slots_;
    std::vector<int> slot_of_;  // by register of the program; -1: only in memory
    std::vector<Uses> uses_;    // by instruction
    const int scratch_[kScratch];
    unsigned pinned_ = 0;  // SIMD registers that the instruction uses
    int now_ = 0;
};

}  // namespace

NativeStep::NativeStep(const Problem& problem, CpuLevel level, PackFunctions pack_functions) {
    if (!has_machine_code(level)) throw std::logic_error("no machine code for this level");
    memory_ = ExecutableMemory(StepTranslator(problem, level, pack_functions).translate());
}

StepCode NativeStep::code() const {
    return std::bit_cast<StepCode>(memory_.begin());
}

bool has_machine_code([[maybe_unused]] CpuLevel level) {
#if defined(__x86_64__)
    return level != CpuLevel::Baseline;
#else
    return false;
#endif
}

}  // namespace voltpile::ode
