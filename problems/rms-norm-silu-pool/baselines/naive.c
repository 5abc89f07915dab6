#include <math.h>

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0.0f;
        for (int64_t j = 0; j < COLS; j++)
            sum += x[i * COLS + j] * x[i * COLS + j];
        const float inverse = 1.0f / sqrtf(sum / COLS + 1e-6f);
        for (int64_t j = 0; j < COLS; j++)
            out[i * COLS + j] = x[i * COLS + j] * inverse * weight[j];
        for (int64_t j = 0; j < COLS; j++) {
            const float g = gate[i * COLS + j];
            out[i * COLS + j] *= g / (1.0f + expf(-g));
        }
    }
}
