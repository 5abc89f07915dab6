/* One row of the right answer. Compiled twice: with `real` as double, and as float to learn what f32 can do.
   Functions of your own are named ORACLE(name), so that the two copies don't meet. exp, sqrt, ... follow the type. */
static void oracle_row(const float *x, const float *residual, const float *weight, int64_t rows, int64_t row, real *out)
{
    (void)rows;
    for (int64_t j = 0; j < COLS; j++)
        out[j] = (real)residual[row * COLS + j] + (real)weight[j] * (real)x[row * COLS + j];
}
