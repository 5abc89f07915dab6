#include <math.h>

void attention_prefill_bf16(
    const uint16_t *q, const uint16_t *k, const uint16_t *v, float *out, float *scratch, int64_t len)
{
    const float scale = 1.0f / sqrtf((float)DIM);
    for (int64_t h = 0; h < HEADS_Q; h++) {
        const int64_t g = h / (HEADS_Q / HEADS_KV);
        for (int64_t i = 0; i < len; i++) {
            for (int64_t j = 0; j <= i; j++) {
                float s = 0.0f;
                for (int64_t d = 0; d < DIM; d++)
                    s += rooflab_from_bf16(q[(h * len + i) * DIM + d]) * rooflab_from_bf16(k[(g * len + j) * DIM + d]);
                scratch[j] = s * scale;
            }
            float most = scratch[0];
            for (int64_t j = 1; j <= i; j++)
                most = fmaxf(most, scratch[j]);
            float sum = 0.0f;
            for (int64_t j = 0; j <= i; j++) {
                scratch[j] = expf(scratch[j] - most);
                sum += scratch[j];
            }
            for (int64_t d = 0; d < DIM; d++) {
                float acc = 0.0f;
                for (int64_t j = 0; j <= i; j++)
                    acc += scratch[j] * rooflab_from_bf16(v[(g * len + j) * DIM + d]);
                out[(h * len + i) * DIM + d] = acc / sum;
            }
        }
    }
}
