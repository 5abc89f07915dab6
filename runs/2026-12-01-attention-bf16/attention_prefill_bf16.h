#ifndef ROOFLAB_ATTENTION_PREFILL_BF16_H
#define ROOFLAB_ATTENTION_PREFILL_BF16_H
#include <stddef.h>
#include <stdint.h>
#define DIM 128
#define HEADS_KV 8
#define HEADS_Q 16
/* bfloat16 is the upper half of a float: its bits are in a uint16_t. Rounds to the nearest, to even in a tie. */
static inline float rooflab_from_bf16(uint16_t x) {
    union { uint32_t bits; float value; } as = { (uint32_t)x << 16 };
    return as.value;
}
static inline uint16_t rooflab_to_bf16(float x) {
    union { float value; uint32_t bits; } as = { x };
    return (uint16_t)((as.bits + 0x7fffu + (as.bits >> 16 & 1u)) >> 16);
}
#ifdef __cplusplus
extern "C" {
#endif
void attention_prefill_bf16(const uint16_t *q, const uint16_t *k, const uint16_t *v, float *out, float *scratch, int64_t len);
#ifdef __cplusplus
}
#endif
#endif
