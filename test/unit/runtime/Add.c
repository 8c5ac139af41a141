// data: two inputs, a result, of floats; sizes: elements of an iteration.
void add(void *const *data, const long *sizes, long begin, long end) {
  const float *a = data[0], *b = data[1];
  float *c = data[2];
  for (long i = begin * sizes[0]; i < end * sizes[0]; ++i)
    c[i] = a[i] + b[i];
}
