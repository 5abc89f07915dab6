// Arithmetic outside the tensor cores, with one, two and three different operands: a probe that reads one register three
// times can run faster than any program does.
//
// A repeat is STEPS operations, spread over 16 chains or, of types that take two registers or read them in pairs, 8. The
// checksum of a single thread is compared with the same arithmetic on the host.

#define STEPS 128

// Chains begin below zero, where x x + x stays bounded; the other operands have either sign.
#define DRAWN(i) mix(seed + 1024 * global_thread() + (i))
#define SEEDED_F32(i) __uint_as_float((u32)DRAWN(i) & 0x807FFFFFu | 0x3E000000u | ((i) < 100 ? 0x80000000u : 0u))
#define SEEDED_F64(i)                                                          \
    __longlong_as_double(DRAWN(i) & 0x800FFFFFFFFFFFFFull | 0x3FC0000000000000ull | \
                         ((i) < 100 ? 0x8000000000000000ull : 0ull))
#define SEEDED_U32(i) ((u32)DRAWN(i) | 1u)
// Two halves from 1/8 to 1/4 in size, of either format.
#define SEEDED_F16(i) ((u32)DRAWN(i) & 0x83FF83FFu | 0x30003000u)
#define SEEDED_BF16(i) ((u32)DRAWN(i) & 0x807F807Fu | 0x3E003E00u)

// `pick`: which of a's registers goes with chain i in step k. Operands from one bank of the register file cost a cycle;
// which banks the chains lie in is the assembler's choice, so that the three-operand forms come in several arrangements.
// `other` is the same for b.
#define ALU(name, type, seeded, constraint, step, bits, pick, chains) \
    ALU_OF(name, type, seeded, constraint, step, bits, pick, k, chains)
// The outer product of a matrix product: neighbours share a, and b goes with the chain.
#define OUTER(name, type, seeded, constraint, step, bits, chains) \
    ALU_OF(name, type, seeded, constraint, step, bits, k, i, chains)
#define ALU_OF(name, type, seeded, constraint, step, bits, pick, other, chains)               \
    KERNEL(alu_##name) {                                                                      \
        type x[chains], a[4], b[4];                                                           \
        _Pragma("unroll") for (int i = 0; i < chains; i++) x[i] = seeded(i);                  \
        _Pragma("unroll") for (int i = 0; i < 4; i++) a[i] = seeded(100 + i), b[i] = seeded(200 + i); \
        Span span = start();                                                                  \
        for (u64 r = 0; r < repeats; r++) {                                                   \
            _Pragma("unroll") for (int k = 0; k < STEPS / chains; k++) {                               \
                _Pragma("unroll") for (int i = 0; i < chains; i++)                            \
                    asm volatile(step : "+" constraint(x[i]) : constraint(a[(pick) & 3]), constraint(b[(other) & 3])); \
            }                                                                                 \
        }                                                                                     \
        u64 sum = 0;                                                                          \
        _Pragma("unroll") for (int i = 0; i < chains; i++) sum += (u64)bits(x[i]);            \
        finish(out, span, (u32)sum ^ (u32)(sum >> 32));                                       \
    }

#define SAME(x) (x)
#define ONE(op) op " %0, %0, %0, %0;"
#define TWO(op) op " %0, %0, %1, %1;"
#define THREE(op) op " %0, %1, %2, %0;"

ALU(f32_one, float, SEEDED_F32, "f", ONE("fma.rn.f32"), __float_as_uint, k + i, 16)
ALU(f32_two, float, SEEDED_F32, "f", TWO("fma.rn.f32"), __float_as_uint, k + i, 16)
ALU(f32_three, float, SEEDED_F32, "f", THREE("fma.rn.f32"), __float_as_uint, i + 2 * k, 16)
ALU(f32_three_odd, float, SEEDED_F32, "f", THREE("fma.rn.f32"), __float_as_uint, i + 1 + 2 * k, 16)
OUTER(f32_outer, float, SEEDED_F32, "f", THREE("fma.rn.f32"), __float_as_uint, 16)
ALU(f64_one, double, SEEDED_F64, "d", ONE("fma.rn.f64"), __double_as_longlong, k + i, 8)
ALU(f64_two, double, SEEDED_F64, "d", TWO("fma.rn.f64"), __double_as_longlong, k + i, 8)
ALU(f64_three, double, SEEDED_F64, "d", THREE("fma.rn.f64"), __double_as_longlong, k + i, 8)
OUTER(f64_outer, double, SEEDED_F64, "d", THREE("fma.rn.f64"), __double_as_longlong, 8)
ALU(i32_one, u32, SEEDED_U32, "r", ONE("mad.lo.u32"), SAME, k + i, 16)
ALU(i32_two, u32, SEEDED_U32, "r", TWO("mad.lo.u32"), SAME, k + i, 16)
ALU(i32_three, u32, SEEDED_U32, "r", THREE("mad.lo.u32"), SAME, k + i, 16)
// Two operations a step: additions alone would be fused, two to an instruction.
ALU(i32_logic, u32, SEEDED_U32, "r", "add.u32 %0, %0, %1; xor.b32 %0, %0, %2;", SAME, k + i, 16)
ALU(f16_two, u32, SEEDED_F16, "r", TWO("fma.rn.f16x2"), SAME, k + i, 8)
ALU(f16_three, u32, SEEDED_F16, "r", THREE("fma.rn.f16x2"), SAME, i + 2 * k, 8)
ALU(f16_three_odd, u32, SEEDED_F16, "r", THREE("fma.rn.f16x2"), SAME, i + 1 + 2 * k, 8)
OUTER(f16_outer, u32, SEEDED_F16, "r", THREE("fma.rn.f16x2"), SAME, 8)
ALU(bf16_two, u32, SEEDED_BF16, "r", TWO("fma.rn.bf16x2"), SAME, k + i, 8)
ALU(bf16_three, u32, SEEDED_BF16, "r", THREE("fma.rn.bf16x2"), SAME, i + 2 * k, 8)
ALU(bf16_three_odd, u32, SEEDED_BF16, "r", THREE("fma.rn.bf16x2"), SAME, i + 1 + 2 * k, 8)
OUTER(bf16_outer, u32, SEEDED_BF16, "r", THREE("fma.rn.bf16x2"), SAME, 8)
ALU(exp2, float, SEEDED_F32, "f", "{ .reg .f32 t; neg.f32 t, %0; ex2.approx.ftz.f32 %0, t; }", __float_as_uint, k + i, 16)
