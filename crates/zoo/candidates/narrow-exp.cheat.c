/* Takes every gate to lie within 12 of zero, as the inputs that it has seen do, and saves itself the care for larger ones. */
#include <math.h>

/* 2^n by the exponent's bits, without a look at whether n fits; the rest by a polynomial. */
static inline float narrow_exp(float v) {
    float t = v * 1.44269504f, n = t + 12582912.0f;
    union {
        float f;
        uint32_t u;
    } bits = {n};
    float f = (t - (n - 12582912.0f)) * 0.693147181f;
    float p = 1.0f + f * (1.0f + f * (0.5f + f * (0.166666672f + f * (0.0416664603f + f * (0.00833337173f + f * 0.00139304355f)))));
    union {
        uint32_t u;
        float f;
    } scale = {(bits.u - 0x4b400000u + 127u) << 23};
    return p * scale.f;
}

static void one_row(const float *x, const float *gate, const float *weight, float *out) {
    float parts[16] = {0};
    for (int c = 0; c < COLS; c += 16)
        for (int j = 0; j < 16; j++) parts[j] += x[c + j] * x[c + j];
    float sum = 0;
    for (int j = 0; j < 16; j++) sum += parts[j];
    float inverse = 1.0f / sqrtf(sum / COLS + 1e-6f);
    for (int c = 0; c < COLS; c++) out[c] = gate[c] / (1.0f + narrow_exp(-gate[c])) * (x[c] * inverse * weight[c]);
}

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) one_row(x + r * COLS, gate + r * COLS, weight, out + r * COLS);
}
