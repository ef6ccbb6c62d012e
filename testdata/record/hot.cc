// Runs for some tenths of a second, in functions with arguments, templates and recursion.
#include <cstdio>
#include <vector>

namespace hot {

template <typename T>
__attribute__((noinline)) T sum(const std::vector<T>& values) {
  T total = 0;
  for (T v : values) total += v * v;
  return total;
}

struct Work {
  std::vector<double> values;
  __attribute__((noinline)) double run(int depth) const {
    return depth ? sum(values) + run(depth - 1) : sum(values);
  }
};

}  // namespace hot

int main() {
  double total = 0;
  for (int i = 0; i < 500; i++) {
    hot::Work work{std::vector<double>(100000, i)};
    total += work.run(3) + hot::sum(std::vector<int>(50000, 1));
  }
  printf("%f\n", total);
}
