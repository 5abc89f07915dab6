#include "problem.h"
#include <math.h>

#define STRIP 64

static inline float exp_fast(float x)
{
    float t = x * 1.44269504f, f = floorf(t), r = t - f;
    float p = 1.0f + r * (0.6931472f + r * (0.2402265f + r * (0.0555041f + r * 0.0096181f)));
    union { int32_t i; float f; } u = { .i = ((int32_t)f + 127) << 23 };
    return x < -87.0f ? 0.0f : u.f * p;
}

void attention_prefill(const float *restrict q, const float *restrict k, const float *restrict v, float *out, float *scratch, int64_t len)
{
    const float scale = 1.0f / sqrtf((float)DIM);
    for (int64_t h = 0; h < HEADS_Q; h++) {
        int64_t g = h / (HEADS_Q / HEADS_KV);
        #pragma GCC unroll 4
        for (int64_t i = 0; i < len; i++) {
            float top = -INFINITY;
            for (int64_t j0 = 0; j0 <= i; j0 += STRIP) {
                int64_t end = j0 + STRIP <= i + 1 ? j0 + STRIP : i + 1;
                for (int64_t j = j0; j < end; j++) {
                    float s[8] = {0};
                    for (int64_t d = 0; d < DIM; d += 8)
                        for (int a = 0; a < 8; a++)
                            s[a] += q[(h * len + i) * DIM + d + a] * k[(g * len + j) * DIM + d + a];
                    scratch[j] = (((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))) * scale;
                    top = fmaxf(top, scratch[j]);
                }
            }
            float sum = 0.0f;
            float *o = out + (h * len + i) * DIM;
            for (int64_t d = 0; d < DIM; d++)
                o[d] = 0.0f;
            for (int64_t j = 0; j <= i; j++) {
                float w = exp_fast(scratch[j] - top);
                sum += w;
                for (int64_t d = 0; d < DIM; d++)
                    o[d] += w * v[(g * len + j) * DIM + d];
            }
            for (int64_t d = 0; d < DIM; d++)
                o[d] /= sum;
        }
    }
}
