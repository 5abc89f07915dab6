void matmul_small_m(const float *x, const float *w, const float *packed, float *y, int64_t m)
{
    (void)packed;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < N; j++) {
            float s = 0.0f;
            for (int64_t l = 0; l < K; l++)
                s += x[i * K + l] * w[l * N + j];
            y[i * N + j] = s;
        }
}
