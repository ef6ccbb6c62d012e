// Allocates blocks that stay and blocks that do not, in functions that call each other and themselves.
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) char *block(int n) {
  char *p = malloc(n);
  memset(p, 0, n);
  return p;
}

__attribute__((noinline)) char *list(int count, int n) {
  char *last = 0;
  for (int i = 0; i < count; i++) {
    char *p = block(n);
    *(char **)p = last;
    last = p;
    if (i % 3 == 0) free(block(n));
  }
  return last;
}

__attribute__((noinline)) char *tree(int depth, int n) {
  char *p = block(n);
  if (depth > 0) {
    ((char **)p)[0] = tree(depth - 1, n);
    ((char **)p)[1] = tree(depth - 1, n);
  }
  return p;
}

char *kept[3];

int main(void) {
  kept[0] = list(2000, 3000);
  kept[1] = tree(9, 20000);
  kept[2] = block(9000000);
}
