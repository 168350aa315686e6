// Passes one of whywait's types to the other file.
#include <whywait/record.hpp>

void take(whywait::region* scope);

int main() {
  take(nullptr);
  return 0;
}
