// Machine code of x86-64 for SIMD registers of doubles: encodes the instructions that NativeStep needs, for
// AVX2 with FMA (VEX, 16 registers of 4 numbers) or AVX-512 F and DQ (EVEX, 32 registers of 8).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace voltpile::ode {

// Where the last operand of an instruction is.
struct Operand {
    enum Kind { Register, Memory, Literal };
    Kind kind = Register;
    int number = 0;  // of the register; which pack of numbers from rbx on; which literal
};

class X86Code {
  public:
    struct Opcode {
        std::uint8_t map = 1;  // 1: 0F, 2: 0F 38, 3: 0F 3A
        std::uint8_t code = 0;
        bool w = true;
    };
    enum Compare : std::uint8_t { kLess = 0x11, kNotAbove = 0x12, kNotEqual = 0x04, kAboveOrNan = 0x16 };
    enum LiteralNumber { kOne, kSignBit, kAllButSign };

    explicit X86Code(bool avx512) : wide_(avx512) {}

    bool wide() const { return wide_; }
    int registers() const { return wide_ ? 32 : 16; }

    // to = first OP second. Instructions with one source pass first = 0.
    void vector(Opcode opcode, int to, int first, Operand second);
    void vector(Opcode opcode, int to, int first, Operand second, std::uint8_t immediate);
    void load(int to, Operand from) { vector({1, 0x10}, to, 0, from); }
    void store(int from, int pack) { vector({1, 0x11}, from, 0, {Operand::Memory, pack}); }
    // to = a COMPARES b ? 1 : 0. scratch: a register that changes.
    void compare(Compare how, int to, int a, Operand b, int scratch);
    // to = condition != 0 or NaN ? yes : no. scratch: two registers that change.
    void select(int to, int condition, int yes, int no, const int (&scratch)[2]);

    // Code around the vectors: a function of (rdi: packs, esi: turns, edx: lanes), which keeps them in rbx,
    // r12d and r13d. A turn ends the function if `alarm` is above 0 or NaN in one of the lanes.
    void begin();
    void leave_on_alarm(int alarm, const int (&scratch)[2]);
    // Calls function(to, a, b) with pointers to packs. All vector registers change.
    void call(void (*function)(double*, const double*, const double*), int to, int a, int b);
    // Ends the turn and the function, which returns how many turns it has not ended. Adds the literals.
    void end();

    const std::vector<std::uint8_t>& bytes() const { return bytes_; }

  private:
    struct Prefix {
        int mask = 0;
        bool zero = false;  // lanes that are not in the mask
    };

    void put(std::initializer_list<int> bytes);
    void put_32(std::int64_t value);
    void set_32(std::size_t at, std::int64_t value);
    void encode(Opcode opcode, int reg, int first, Operand rm, Prefix prefix, int immediate_bytes);
    int pack_bytes() const { return wide_ ? 64 : 32; }

    const bool wide_;
    std::vector<std::uint8_t> bytes_;
    std::size_t loop_ = 0;
    std::vector<std::size_t> exits_;  // where jumps out of the loop have their distances
    struct Reference {
        std::size_t at, end;  // of the displacement, of its instruction
        int literal;
    };
    std::vector<Reference> references_;
};

}  // namespace voltpile::ode
