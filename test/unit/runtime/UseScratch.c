// data: an input, a result, scratch memory of 8 floats. Each iteration
// reverses its 8 elements by way of the scratch memory.
void useScratch(void *const *data, const long *sizes, long begin, long end) {
  for (long i = begin; i < end; ++i) {
    const float *a = (const float *)data[0] + 8 * i;
    float *b = (float *)data[1] + 8 * i;
    volatile float *scratch = data[2];
    for (int j = 0; j < 8; ++j)
      scratch[7 - j] = a[j];
    for (int j = 0; j < 8; ++j)
      b[j] = scratch[j];
  }
}
