#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>

template <int N>
struct Fib {
  static constexpr long value = Fib<N - 1>::value + Fib<N - 2>::value;
};
template <>
struct Fib<1> {
  static constexpr long value = 1;
};
template <>
struct Fib<0> {
  static constexpr long value = 0;
};

int main() {
  std::map<std::string, int> count;
  std::regex word("[a-z]+");
  for (std::string line; std::getline(std::cin, line);)
    for (std::sregex_iterator it(line.begin(), line.end(), word), end; it != end; ++it) ++count[it->str()];
  std::vector<std::pair<int, std::string>> order;
  for (auto &[w, n] : count) order.emplace_back(n, w);
  std::sort(order.rbegin(), order.rend());
  for (auto &[n, w] : order) std::cout << n << ' ' << w << '\n';
  std::cout << Fib<40>::value << '\n';
}
