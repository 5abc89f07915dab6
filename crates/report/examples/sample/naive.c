#include "problem.h"
#include <math.h>

void attention_prefill(const float *q, const float *k, const float *v, float *out, float *scratch, int64_t len)
{
    const float scale = 1.0f / sqrtf((float)DIM);
    for (int64_t h = 0; h < HEADS_Q; h++) {
        int64_t g = h / (HEADS_Q / HEADS_KV);
        for (int64_t i = 0; i < len; i++) {
            float top = -INFINITY;
            for (int64_t j = 0; j <= i; j++) {
                float s = 0.0f;
                for (int64_t d = 0; d < DIM; d++)
                    s += q[(h * len + i) * DIM + d] * k[(g * len + j) * DIM + d];
                scratch[j] = s * scale;
                top = fmaxf(top, scratch[j]);
            }
            float sum = 0.0f;
            for (int64_t j = 0; j <= i; j++) {
                scratch[j] = expf(scratch[j] - top);
                sum += scratch[j];
            }
            for (int64_t d = 0; d < DIM; d++) {
                float s = 0.0f;
                for (int64_t j = 0; j <= i; j++)
                    s += scratch[j] * v[(g * len + j) * DIM + d];
                out[(h * len + i) * DIM + d] = s / sum;
            }
        }
    }
}
