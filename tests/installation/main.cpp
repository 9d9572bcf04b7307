#include <iostream>
#include <kreisel/base/types.hpp>
#include <kreisel/base/version.hpp>

int main() {
  const kreisel::Vector3 a = kreisel::skew(kreisel::Vector3::UnitX()) * kreisel::Vector3::UnitY();
  const bool is_right_handed = a == kreisel::Vector3::UnitZ();
  std::cout << "kreisel " << kreisel::version() << " (" << kreisel::commit() << ", " << kreisel::compiler() << ")\n";
  return is_right_handed && kreisel::version() == WANTED_VERSION ? 0 : 1;
}
