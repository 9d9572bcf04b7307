// Exact solutions, to a stated accuracy: nodes in quadruple precision where the formulas allow it, else DOP853 with projection on the
// index-1 form, at two resolutions.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "io/files/files.hpp"
#include "models/catalogue.hpp"
#include "run/rkmk.hpp"

namespace kreisel::study {

/// Twice the largest Euclidean differences between the two resolutions, over time; q in the embedding. With nodes: the
/// largest differences between the nodes and the double-precision solution that arrives there.
struct Accuracy {
  double q = 0.0, v = 0.0, lambda = 0.0;
};

/// A motion computed elsewhere: q, v and λ at t.
using ExternalMotion = std::function<void(double t, Vector& q, Vector& v, Vector& lambda)>;

/// Points at equal spacing; values between them take one more step.
struct Reference {
  double t0 = 0.0, t_end = 0.0;
  long steps = 0;  ///< of the finer resolution
  long every = 1;  ///< how many of them lie between stored points
  long nodes = 0;  ///< intervals between points computed in quadruple precision; 0: there are none
  int stride = 0;  ///< q, v, v̇, λ
  std::vector<double> points;
  Accuracy accuracy;
  double q_size = 0.0, v_size = 0.0, lambda_size = 0.0;  ///< largest norms over time
  bool was_cached = false;
  ExternalMotion external{};  ///< instead of points

  double step() const { return (t_end - t0) / static_cast<double>(steps); }
};

struct ReferenceOptions {
  double tolerance = 1e-13;  ///< relative difference of two resolutions that is small enough
  long max_steps = 1'024'000;
  ExternalMotion external{};              ///< taken as it is; called from several threads
  Accuracy external_accuracy{};           ///< its stated accuracy
  io::Path cache{};                       ///< folder; empty: none
  std::function<bool()> wants_to_stop{};  ///< called now and then; once true it stays so

  bool is_stopped() const { return wants_to_stop && wants_to_stop(); }
};

/// Systems that are system::Precise get nodes in quadruple precision (extrapolation, two resolutions that agree to all
/// digits of a double) and double precision between them, unless a looser tolerance is requested. For others the
/// number of steps of DOP853 doubles until two resolutions agree to the tolerance or to round-off. Throws InvalidInput
/// when the motion cannot be computed up to t_end, or the model has events. Null: it was stopped.
std::shared_ptr<const Reference> make_reference(const models::Model& model, double t_end,
                                                const ReferenceOptions& options);

/// What a reference depends on, as text: the initial values, the interval and the equations themselves, probed at a few
/// motions. Two models with the same text have the same solution.
std::string reference_key(const models::Model& model, double t_end, const ReferenceOptions& options);

/// $XDG_CACHE_HOME/kreisel or ~/.cache/kreisel; empty when there is neither.
io::Path cache_folder();

/// A reference at any time. One for each thread.
class ExactSolution {
 public:
  ExactSolution(const models::Model& model, std::shared_ptr<const Reference> reference);

  const Reference& reference() const { return *reference_; }
  /// q, v, v̇ at t, which lies in [t0, t_end].
  const lie::Motion& at(double t);
  const Vector& lambda() const { return lambda_; }  ///< at the time requested last

 private:
  void load(long stored);

  std::shared_ptr<const Reference> reference_;
  Counters counters_;
  run::Rkmk rkmk_;
  lie::Motion now_, next_;
  Vector lambda_, omega_;
  double asked_ = std::numeric_limits<double>::quiet_NaN();  ///< now_ and lambda_ belong to this time
};

}  // namespace kreisel::study
