// Runs for some milliseconds, in functions that call each other.
volatile long sum;

__attribute__((noinline)) void inner(int n) {
  for (int i = 0; i < n; i++) sum += i;
}

__attribute__((noinline)) void middle(int n) {
  inner(n);
  sum++;
}

__attribute__((noinline)) void outer(int n) {
  middle(n);
  sum++;
}

int main(void) {
  for (int i = 0; i < 300; i++) outer(100000);
}
