/* Arithmetic of narrower formats, in plain f32. Put before each variant. */
#include <math.h>
#include <string.h>

#ifndef DROPPED
#define DROPPED 0 /* low bits of a significand that inputs lose: 16 bf16, 13 f16 and TF32 */
#endif

static float without(float x, int bits)
{
    uint32_t word;
    memcpy(&word, &x, 4);
    if (bits)
        word = (word + (1u << (bits - 1))) & ~((1u << bits) - 1);
    memcpy(&x, &word, 4);
    return x;
}

static inline float in(float x)
{
    return without(x, DROPPED);
}

/* a * b from three products of bf16 parts. */
static inline float split_product(float a, float b)
{
    const float ah = without(a, 16), al = without(a - ah, 16), bh = without(b, 16), bl = without(b - bh, 16);
    return ah * bl + al * bh + ah * bh;
}

#ifdef SPLIT
#define MUL(a, b) split_product(a, b)
#else
#define MUL(a, b) (in(a) * in(b))
#endif

/* Cephes' single-precision exp without its last correction: 2 ulp. */
static float polynomial_exp(float x)
{
    if (x < -87.0f)
        return 0.0f;
    const float n = rintf(x * 1.44269504088896341f);
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    uint32_t word = (uint32_t)((int32_t)n + 127) << 23;
    float power;
    memcpy(&power, &word, 4);
    return p * power;
}

/* Schraudolph's exp: 3 % off. */
static float crude_exp(float x)
{
    if (x < -80.0f)
        return 0.0f;
    const int32_t word = (int32_t)(12102203.0f * x + 1064866805.0f);
    float y;
    memcpy(&y, &word, 4);
    return y;
}

#ifndef EXP
#define EXP expf
#endif
