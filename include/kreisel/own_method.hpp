// A user-defined method: a step map x ↦ (q, v, v̇) that runs through the same solver, starts and studies as the built-in ones.
//
//     struct Bdf2 : kreisel::method::OwnMethod {
//       int points_needed() const override { return 2; }
//       void velocity(const Vector& x, Vector& v, Vector& a) override {
//         v = (3.0 * x - past(0).omega / h()) / 2.0;
//         a = (3.0 * v - 4.0 * past(0).motion.v + past(1).motion.v) / (2.0 * h());
//       }
//     };
//     kreisel::method::register_method({.name = "my-bdf2", .order = 2, .make = [] { return std::make_unique<Bdf2>(); }});
//     // options.method = "my-bdf2", and in studies "method": "my-bdf2"
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kreisel/groups.hpp"
#include "kreisel/motion.hpp"

namespace kreisel::method {

class History;

/// A method on constant steps. Data kept between two steps must be set in `begin_step` from the past alone: a step may be tried
/// more than once.
class OwnMethod {
 public:
  virtual ~OwnMethod() = default;

  /// Number of past points that a step uses, 1 to 6.
  virtual int points_needed() const = 0;
  /// Called before each step, when `past`, `h` and `space` are set for it.
  virtual void begin_step() {}
  /// q_{n+1} from x; by default q_n∘exp(h x).
  virtual void position(const Vector& x, Vector& q);
  /// v_{n+1} and v̇_{n+1} from x, which is about the mean velocity of the step. Smooth in x.
  virtual void velocity(const Vector& x, Vector& v, Vector& a) = 0;

  // Set by kreisel.
  const lie::Space& space() const { return *space_; }
  double h() const { return h_; }
  /// Point n - age: motion, omega with q_{n-age} = q_{n-age-1}∘exp(omega), and lambda.
  const Entry& past(int age) const;

 private:
  friend class OwnMethodAdapter;
  const lie::Space* space_ = nullptr;
  const History* history_ = nullptr;
  double h_ = 0.0;
};

struct OwnMethodInfo {
  std::string name;
  std::string summary = "user-defined method";
  int order = 2;  ///< expected order, 1 to 6
  /// Supported forms of the constraints.
  std::vector<std::string> formulations = {"ode", "index3", "stabilized-index2", "index2", "index1"};
  std::function<std::unique_ptr<OwnMethod>()> make;  ///< called from several threads
};

/// Makes the method available by its name. Throws InvalidInput if the name is taken or `make` is empty.
void register_method(const OwnMethodInfo& info);

}  // namespace kreisel::method
