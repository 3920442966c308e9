#include "ode/x86_code.h"

#include <bit>
#include <cstring>

namespace voltpile::ode {

namespace {

constexpr X86Code::Opcode kAnd{1, 0x54}, kXor{1, 0x57}, kCompareOpcode{1, 0xC2}, kMove{1, 0x28},
    kSignBits{1, 0x50, false}, kBlendByRegister{3, 0x4B, false}, kBlendByMask{2, 0x65};

}  // namespace

void X86Code::put(std::initializer_list<int> bytes) {
    for (const int byte : bytes) bytes_.push_back(static_cast<std::uint8_t>(byte));
}

void X86Code::put_32(std::int64_t value) {
    bytes_.resize(bytes_.size() + 4);
    set_32(bytes_.size() - 4, value);
}

void X86Code::set_32(std::size_t at, std::int64_t value) {
    const auto bits = static_cast<std::int32_t>(value);
    std::memcpy(&bytes_[at], &bits, sizeof bits);
}

// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, sections 2.3 and 2.7. Bits of
// register numbers are inverted in prefixes.
void X86Code::encode(Opcode opcode, int reg, int first, Operand rm, Prefix prefix, int immediate_bytes) {
    const int base = rm.kind == Operand::Register ? rm.number : 0;  // rbx and rip have no upper bits
    const int w_first_pp = (opcode.w ? 0x80 : 0) | (~first & 15) << 3 | 1;
    const auto inverted = [](int number, int bit) { return ~number >> bit & 1; };
    if (wide_) {
        put({0x62,
             inverted(reg, 3) << 7 | inverted(base, 4) << 6 | inverted(base, 3) << 5 | inverted(reg, 4) << 4 |
                 opcode.map,
             w_first_pp | 4, (prefix.zero ? 0x80 : 0) | 0x40 | inverted(first, 4) << 3 | prefix.mask});
    } else {
        put({0xC4, inverted(reg, 3) << 7 | 0x40 | inverted(base, 3) << 5 | opcode.map, w_first_pp | 4});
    }
    const int reg_bits = (reg & 7) << 3;
    put({opcode.code});
    if (rm.kind == Operand::Register) {
        put({0xC0 | reg_bits | (rm.number & 7)});
    } else if (rm.kind == Operand::Memory) {
        put({0x80 | reg_bits | 3});
        put_32(static_cast<std::int64_t>(rm.number) * pack_bytes());
    } else {
        put({reg_bits | 5});
        put_32(0);
        references_.push_back(
            {bytes_.size() - 4, bytes_.size() + static_cast<std::size_t>(immediate_bytes), rm.number});
    }
}

void X86Code::vector(Opcode opcode, int to, int first, Operand second) {
    encode(opcode, to, first, second, {}, 0);
}

void X86Code::vector(Opcode opcode, int to, int first, Operand second, std::uint8_t immediate) {
    encode(opcode, to, first, second, {}, 1);
    put({immediate});
}

void X86Code::compare(Compare how, int to, int a, Operand b, int scratch) {
    if (wide_) {
        vector(kCompareOpcode, 1, a, b, how);  // to mask register 1
        encode(kMove, to, 0, {Operand::Literal, kOne}, {.mask = 1, .zero = true}, 0);
    } else {
        vector(kCompareOpcode, scratch, a, b, how);
        vector(kAnd, to, scratch, {Operand::Literal, kOne});
    }
}

void X86Code::select(int to, int condition, int yes, int no, const int (&scratch)[2]) {
    vector(kXor, scratch[0], scratch[0], {Operand::Register, scratch[0]});
    const int mask = wide_ ? 1 : scratch[1];
    vector(kCompareOpcode, mask, condition, {Operand::Register, scratch[0]}, kNotEqual);
    if (wide_)
        encode(kBlendByMask, to, no, {Operand::Register, yes}, {.mask = 1}, 0);
    else
        vector(kBlendByRegister, to, no, {Operand::Register, yes}, static_cast<std::uint8_t>(mask << 4));
}

void X86Code::begin() {
    put({0x53, 0x41, 0x54, 0x41, 0x55});                          // push rbx, r12, r13
    put({0x48, 0x89, 0xFB, 0x41, 0x89, 0xF4, 0x41, 0x89, 0xD5});  // mov rbx, rdi; r12d, esi; r13d, edx
    loop_ = bytes_.size();
}

void X86Code::leave_on_alarm(int alarm, const int (&scratch)[2]) {
    vector(kXor, scratch[0], scratch[0], {Operand::Register, scratch[0]});
    if (wide_) {
        vector(kCompareOpcode, 1, alarm, {Operand::Register, scratch[0]}, kAboveOrNan);
        put({0xC5, 0xF9, 0x93, 0xC1});  // kmovb eax, k1
    } else {
        vector(kCompareOpcode, scratch[1], alarm, {Operand::Register, scratch[0]}, kAboveOrNan);
        vector(kSignBits, 0, 0, {Operand::Register, scratch[1]});  // vmovmskpd eax
    }
    put({0x44, 0x85, 0xE8, 0x0F, 0x85});  // test eax, r13d; jnz
    exits_.push_back(bytes_.size());
    put_32(0);
}

void X86Code::call(void (*function)(double*, const double*, const double*), int to, int a, int b) {
    const auto address = [&](int modrm, int pack) {  // lea
        put({0x48, 0x8D, modrm});
        put_32(static_cast<std::int64_t>(pack) * pack_bytes());
    };
    address(0xBB, to);  // rdi
    address(0xB3, a);   // rsi
    address(0x93, b);   // rdx
    put({0x48, 0xB8});  // mov rax
    const auto target = std::bit_cast<std::uint64_t>(function);
    put_32(static_cast<std::int64_t>(target));
    put_32(static_cast<std::int64_t>(target >> 32));
    put({0xFF, 0xD0});  // call rax
}

void X86Code::end() {
    put({0x41, 0xFF, 0xCC, 0x0F, 0x85});  // dec r12d; jnz
    put_32(static_cast<std::int64_t>(loop_) - static_cast<std::int64_t>(bytes_.size()) - 4);
    for (const std::size_t at : exits_)
        set_32(at, static_cast<std::int64_t>(bytes_.size()) - static_cast<std::int64_t>(at) - 4);
    put({0x44, 0x89, 0xE0});                    // mov eax, r12d
    put({0xC5, 0xF8, 0x77});                    // vzeroupper
    put({0x41, 0x5D, 0x41, 0x5C, 0x5B, 0xC3});  // pop r13, r12, rbx; ret
    while (bytes_.size() % 64 != 0) put({0xCC});
    const std::size_t literals = bytes_.size();
    for (const std::uint64_t literal :
         {std::bit_cast<std::uint64_t>(1.0), std::uint64_t{1} << 63, ~(std::uint64_t{1} << 63)})
        for (int i = 0; i < pack_bytes() / 8; ++i) {
            put_32(static_cast<std::int64_t>(literal));
            put_32(static_cast<std::int64_t>(literal >> 32));
        }
    for (const Reference& of : references_)
        set_32(of.at, static_cast<std::int64_t>(literals) + of.literal * pack_bytes() -
                          static_cast<std::int64_t>(of.end));
}

}  // namespace voltpile::ode
