/* One pass after the norm, the sum in 64 parts or in one, the products in another order. */
#ifndef PARTS
#define PARTS 64
#endif

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        float part[PARTS] = {0}, sum = 0.0f;
        for (int64_t j = 0; j < COLS; j += PARTS)
            for (int64_t l = 0; l < PARTS; l++)
                part[l] += MUL(x[i * COLS + j + l], x[i * COLS + j + l]);
        for (int64_t l = 0; l < PARTS; l++)
            sum += part[l];
#ifdef NO_NORM
        const float inverse = 1.0f;
#else
        const float inverse = 1.0f / sqrtf(sum * (1.0f / COLS) + 1e-6f);
#endif
        for (int64_t j = 0; j < COLS; j++) {
            const float g = in(gate[i * COLS + j]);
            out[i * COLS + j] = g * (1.0f / (1.0f + EXP(-g))) * in(weight[j]) * in(x[i * COLS + j]) * inverse;
        }
    }
}
