void {{entry}}(const float *x, const float *residual, const float *weight, float *out, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < COLS; j++)
            out[i * COLS + j] = residual[i * COLS + j] + weight[j] * x[i * COLS + j];
}
