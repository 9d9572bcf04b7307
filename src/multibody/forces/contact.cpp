// Compliant contact of simple shapes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kreisel/error.hpp"
#include "multibody/dual_body.hpp"
#include "multibody/force.hpp"

namespace kreisel::multibody {
namespace {

/// By (x, θ) of both bodies, (u, w) of both, and the speed of the last touch.
constexpr int directions = 25;
using Number = Dual<double, directions>;

/// Odd, so that a law continues smoothly beyond zero.
double pow(double x, double n) { return std::copysign(std::pow(std::abs(x), n), x); }
Number pow(const Number& x, double n) {
  return Number::chained(pow(x.value, n), n * std::pow(std::abs(x.value), n - 1.0), x);
}

double plain(double x) { return x; }
double plain(const Number& x) { return x.value; }

/// tanh(√w)/√w, smooth at zero.
double tanh_over(double w) {
  if (w < 1e-4) return 1.0 - w / 3.0 + 2.0 * w * w / 15.0;
  const double x = std::sqrt(w);
  return std::tanh(x) / x;
}
Number tanh_over(const Number& w) {
  if (w.value < 1e-4) return Number::chained(tanh_over(w.value), -1.0 / 3.0 + 4.0 * w.value / 15.0, w);
  const double x = std::sqrt(w.value), t = std::tanh(x);
  return Number::chained(t / x, ((1.0 - t * t) - t / x) / (2.0 * w.value), w);
}

/// y = x with which the law k δⁿ (1 + y δ̇/v) rebounds with e v from an impact with v. Of m v dv = -k δⁿ (1 + y/v₀ v) dδ the integral from
/// v₀ to -e v₀ does not depend on k, n and m: y - ln(1 + y) = -e y - ln(1 - e y).
double damping_of(double e) {
  if (e >= 1.0) return 0.0;
  // With the unknown s = -ln(1 - e y) all of the way to y = 1/e is resolved.
  const auto miss = [e](double s) {
    const double y = -std::expm1(-s) / e;
    return y - std::log1p(y) + e * y - s;
  };
  double low = 0.0, high = 1.0;
  // Close to zero the miss is positive: y²/2 > e²y²/2.
  while (miss(high) > 0.0) low = high, high *= 2.0;
  for (int i = 0; i < 200 && high - low > 1e-15 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (miss(middle) > 0.0 ? low : high) = middle;
  }
  return -std::expm1(-0.5 * (low + high)) / e;
}

/// A plane, or all points closer than `radius` to a segment: a capsule, a sphere (no length), a point (no radius).
struct Shape {
  bool is_plane = false;
  Vector3 p = Vector3::Zero(), axis = Vector3::UnitZ();  ///< point and normal of a plane; middle and axis of a capsule
  double radius = 0.0, half = 0.0;
};

/// One place at which two bodies may touch.
template <class T>
struct Touch {
  Triple<T> normal;   ///< from the first to the second
  Triple<T> contact;  ///< where friction acts
  T gap{};
};

/// Methods evaluate a little beyond the time at which a gap closes or opens. Gaps up to this time times their rate count as before it.
constexpr double look_around = 1e-2;  ///< [s]

/// Normal force N = k δⁿ (1 + d δ̇), never pulling (Hunt, Crossley 1975), friction -μ N tanh(|v_t|/v₀) v_t/|v_t| at the contact.
///
/// The law has a corner at δ = 0. Steps end there, and a state z gives the side on which they continue: positive while it is closed, where the law continues
/// smoothly for small gaps, negative while it is open, where small depths have no force; zero: by the gap alone. |z| is the speed of the last
/// touch.
class Contact final : public Force {
 public:
  struct Law {
    double stiffness, exponent, friction, smoothing;
    double damping;     ///< d, or d times the speed of the touch where it is remembered
    bool remembers;     ///< the speed of the last touch
    double rest_speed;  ///< least speed of a touch
  };

  Contact(const ForceSpec& spec, const Shape& first, const Shape& second, const Law& law)
      : Force("contact", spec.name, spec.bodies), law_(law) {
    // The ends of a capsule touch a plane one by one.
    if (first.is_plane && second.half > 0.0) {
      for (const double end : {-1.0, 1.0}) {
        Shape ball = second;
        ball.p += end * second.half * second.axis;
        ball.half = 0.0;
        pairs_.push_back({first, ball});
      }
    } else {
      pairs_.push_back({first, second});
    }
  }

  int states() const override { return gaps(); }
  void start_states(const BodyState* s, double* z) const override {
    for (int i = 0; i < gaps(); ++i) {
      const double gap = gap_at(s, i), round_off = 1e-12 * (s[0].x.norm() + s[1].x.norm() + pair(i)[1].radius);
      z[i] = std::abs(gap) <= round_off ? 0.0 : std::copysign(law_.rest_speed, -gap);
    }
  }
  void state_rates(const ForceState&, double* f) const override { std::fill_n(f, states(), 0.0); }

  int gaps() const override { return static_cast<int>(pairs_.size()); }
  double gap_at(const BodyState* s, int i) const override { return touch_of(pair(i), moving(s[0]), moving(s[1])).gap; }
  void touched(const BodyState* s, int i, double* z) const override {
    const MovingFrame<double> a = moving(s[0]), b = moving(s[1]);
    const double rate = speed_at(touch_of(pair(i), a, b), a, b);
    z[i] = rate < 0.0 ? std::max(-rate, law_.rest_speed) : -law_.rest_speed;
  }

  void add_wrench(const ForceState& at, Slopes& wrench) const override {
    const MovingFrame<double> a = moving(at.s[0]), b = moving(at.s[1]);
    for (int i = 0; i < gaps(); ++i) {
      const Touch<double> touch = touch_of(pair(i), a, b);
      if (!acts(touch.gap, speed_at(touch, a, b), at.z[i])) continue;
      const std::array<double, 12> all = wrench_of(touch, a, b, speed_of_touch(at, i));
      for (std::size_t k = 0; k < 12; ++k) wrench[k / 6][static_cast<Eigen::Index>(k % 6)] += all[k];
    }
  }
  void add_blocks(const ForceState& at, ElementBlocks& out) const override {
    const MovingFrame<double> plain_a = moving(at.s[0]), plain_b = moving(at.s[1]);
    for (int i = 0; i < gaps(); ++i) {
      const Touch<double> touch = touch_of(pair(i), plain_a, plain_b);
      if (!acts(touch.gap, speed_at(touch, plain_a, plain_b), at.z[i])) continue;
      const MovingFrame<Number> a = moving<directions>(at.s[0], 0, 12), b = moving<directions>(at.s[1], 6, 18);
      const std::array<Number, 12> all =
          wrench_of(touch_of(pair(i), a, b), a, b, Number(speed_of_touch(at, i), directions - 1));
      const double by_z = !law_.remembers || std::abs(at.z[i]) < law_.rest_speed ? 0.0 : std::copysign(1.0, at.z[i]);
      for (int r = 0; r < 12; ++r) {
        const Number& entry = all[static_cast<std::size_t>(r)];
        for (int c = 0; c < 12; ++c) {
          out.K(r / 6, c / 6)(r % 6, c % 6) += entry.slope[static_cast<std::size_t>(c)];
          out.D(r / 6, c / 6)(r % 6, c % 6) += entry.slope[static_cast<std::size_t>(12 + c)];
        }
        out.G[static_cast<std::size_t>(i)][static_cast<std::size_t>(r / 6)][r % 6] += by_z * entry.slope.back();
      }
    }
  }

  double potential(const ForceState& at) const override {
    const MovingFrame<double> a = moving(at.s[0]), b = moving(at.s[1]);
    double sum = 0.0;
    for (int i = 0; i < gaps(); ++i)
      if (const Touch<double> touch = touch_of(pair(i), a, b); acts(touch.gap, speed_at(touch, a, b), at.z[i]))
        sum += law_.stiffness * std::pow(std::abs(touch.gap), law_.exponent + 1.0) / (law_.exponent + 1.0);
    return sum;
  }
  bool has_effort() const override { return true; }
  /// The sum of its normal forces.
  double effort_at(const ForceState& at) const override {
    const MovingFrame<double> a = moving(at.s[0]), b = moving(at.s[1]);
    double sum = 0.0;
    for (int i = 0; i < gaps(); ++i)
      if (const Touch<double> touch = touch_of(pair(i), a, b); acts(touch.gap, speed_at(touch, a, b), at.z[i]))
        sum += normal_force(touch.gap, speed_at(touch, a, b), speed_of_touch(at, i));
    return sum;
  }
  void add_flow(const ForceState& at, system::Power& power) const override {
    const MovingFrame<double> a = moving(at.s[0]), b = moving(at.s[1]);
    for (int i = 0; i < gaps(); ++i) {
      const Touch<double> touch = touch_of(pair(i), a, b);
      const double rate = speed_at(touch, a, b);
      if (!acts(touch.gap, rate, at.z[i])) continue;
      const double press = normal_force(touch.gap, rate, speed_of_touch(at, i));
      const Triple<double> slip = velocity_at(touch, a, b) - rate * touch.normal;
      const double spring = law_.stiffness * pow(-touch.gap, law_.exponent);
      power.dissipated += (spring - press) * rate + press * drag_over(dot(slip, slip)) * dot(slip, slip);
    }
  }

 private:
  using Pair = std::array<Shape, 2>;
  const Pair& pair(int i) const { return pairs_[static_cast<std::size_t>(i)]; }
  double speed_of_touch(const ForceState& at, int i) const {
    return law_.remembers ? std::max(std::abs(at.z[i]), law_.rest_speed) : 1.0;
  }
  static bool acts(double gap, double rate, double z) {
    return gap < (z == 0.0 ? 0.0 : std::copysign(look_around * std::abs(rate), z));
  }

  template <class T>
  Touch<T> touch_of(const Pair& pair, const MovingFrame<T>& a, const MovingFrame<T>& b) const {
    using std::sqrt;
    const Shape &first = pair[0], &second = pair[1];
    Touch<T> out;
    Triple<T> from = a.x + a.turned(first.p), to = b.x + b.turned(second.p);
    if (first.is_plane) {
      out.normal = a.turned(first.axis);
      out.gap = dot(out.normal, to - from) - T(second.radius);
      out.contact = to - T(second.radius) * out.normal;
      return out;
    }
    const Triple<T> along = a.turned(first.axis), other = b.turned(second.axis);
    move_to_nearest(first, second, along, other, from, to);
    const Triple<T> r = to - from;
    const T length = sqrt(dot(r, r));
    out.normal = T(1.0) / length * r;
    const double both = first.radius + second.radius;
    out.gap = length - T(both);
    out.contact = from + T(first.radius / both) * r;
    return out;
  }

  /// The nearest points of two segments. Numbers with derivatives take one more step of Newton's method: it does not move the points, but
  /// gives their derivatives.
  template <class T>
  static void move_to_nearest(const Shape& first, const Shape& second, const Triple<T>& c, const Triple<T>& f,
                              Triple<T>& from, Triple<T>& to) {
    if (first.half == 0.0 && second.half == 0.0) return;
    const Triple<T> r = to - from;
    const double cr = plain(dot(c, r)), fr = plain(dot(f, r)), cf = plain(dot(c, f));
    const auto within = [](double x, double half) { return std::clamp(x, -half, half); };
    // |r + t f - s c|² with s and t within the segments.
    double s = 0.0, t = 0.0;
    const double determinant = 1.0 - cf * cf;
    const bool is_parallel = determinant < 1e-10;
    if (first.half == 0.0) {
      t = within(-fr, second.half);
    } else if (second.half == 0.0) {
      s = within(cr, first.half);
    } else {
      if (is_parallel) {  // the middle of where they lie side by side
        const double low = std::max(-first.half, cr - second.half), high = std::min(first.half, cr + second.half);
        s = within(0.5 * (low + high), first.half);
      } else {
        s = within((cr - cf * fr) / determinant, first.half);
      }
      t = within(s * cf - fr, second.half);
      s = is_parallel ? s : within(t * cf + cr, first.half);
    }
    T s_moved(s), t_moved(t);
    const bool s_is_free = std::abs(s) < first.half && !is_parallel, t_is_free = std::abs(t) < second.half;
    const Triple<T> now = r + T(t) * f - T(s) * c;
    const T by_s = -dot(c, now), by_t = dot(f, now);  // of half the square; zero where they are free
    if (s_is_free && t_is_free) {
      s_moved = T(s) - T(1.0 / determinant) * (by_s + T(cf) * by_t);
      t_moved = T(t) - T(1.0 / determinant) * (by_t + T(cf) * by_s);
    } else if (s_is_free) {
      s_moved = T(s) - by_s;
    } else if (t_is_free) {
      t_moved = T(t) - by_t;
    }
    from = from + s_moved * c;
    to = to + t_moved * f;
  }

  template <class T>
  static Triple<T> velocity_at(const Touch<T>& touch, const MovingFrame<T>& a, const MovingFrame<T>& b) {
    return b.u + cross(b.omega, touch.contact - b.x) - a.u - cross(a.omega, touch.contact - a.x);
  }
  /// Rate of the gap.
  template <class T>
  static T speed_at(const Touch<T>& touch, const MovingFrame<T>& a, const MovingFrame<T>& b) {
    return dot(touch.normal, velocity_at(touch, a, b));
  }
  template <class T>
  T normal_force(const T& gap, const T& rate, const T& touch_speed) const {
    const T factor = T(1.0) - T(law_.damping) / touch_speed * rate;
    if (!(plain(factor) > 0.0)) return T(0.0);
    return T(law_.stiffness) * pow(-gap, law_.exponent) * factor;
  }
  /// Friction per normal force and slip.
  template <class T>
  T drag_over(const T& slip_squared) const {
    const double v = law_.smoothing;
    return T(law_.friction / v) * tanh_over(T(1.0 / (v * v)) * slip_squared);
  }
  /// With the sign of the left-hand side.
  template <class T>
  std::array<T, 12> wrench_of(const Touch<T>& touch, const MovingFrame<T>& a, const MovingFrame<T>& b,
                              const T& touch_speed) const {
    const Triple<T> v = velocity_at(touch, a, b);
    const T rate = dot(touch.normal, v), press = normal_force(touch.gap, rate, touch_speed);
    Triple<T> force = press * touch.normal;
    if (law_.friction > 0.0) {
      const Triple<T> slip = v - rate * touch.normal;
      force = force - press * drag_over(dot(slip, slip)) * slip;
    }
    const Triple<T> on_first = a.in_body(cross(touch.contact - a.x, force));
    const Triple<T> on_second = b.in_body(cross(touch.contact - b.x, force));
    std::array<T, 12> out;
    for (std::size_t i = 0; i < 3; ++i) {
      const int k = static_cast<int>(i);
      out[i] = force[k];
      out[i + 3] = on_first[k];
      out[i + 6] = -force[k];
      out[i + 9] = -on_second[k];
    }
    return out;
  }

  std::vector<Pair> pairs_;
  Law law_;
};

Shape shape_of(const ForceSpec& spec, std::size_t slot, std::string_view word) {
  const std::string_view which = slot == 0 ? "first" : "second";
  Shape shape;
  shape.p = spec.frames[slot].p;
  shape.axis = spec.frames[slot].E.col(2);
  shape.is_plane = word == "plane";
  const auto number = [&](std::string_view key, bool is_wanted) {
    const std::string name = fmt::format("{}_{}", which, key);
    if (spec.has_number(name) != is_wanted)
      throw InvalidInput(
          is_wanted ? fmt::format("the {} of the {} body needs \"{}\" [m]", word, which, name)
                    : fmt::format("the {} of the {} body has no {}; leave \"{}\" out", word, which, key, name));
    return is_wanted ? spec.number(name) : 0.0;
  };
  shape.radius = number("radius", word == "sphere" || word == "capsule");
  shape.half = 0.5 * number("length", word == "capsule");
  return shape;
}

ForcePtr build_contact(const ForceSpec& spec) {
  const std::string& shapes = spec.word("shapes");
  const std::size_t dash = shapes.find('-');
  const Shape first = shape_of(spec, 0, std::string_view(shapes).substr(0, dash));
  const Shape second = shape_of(spec, 1, std::string_view(shapes).substr(dash + 1));
  if (spec.has_number("restitution") && spec.has_number("damping"))
    throw InvalidInput("\"restitution\" and \"damping\" both set the damping; leave one out");
  const double restitution = spec.has_number("restitution") ? spec.number("restitution") : 1.0;
  const bool remembers = spec.has_number("restitution") && restitution < 1.0;
  return std::make_unique<Contact>(
      spec, first, second,
      Contact::Law{.stiffness = spec.number("stiffness"),
                   .exponent = spec.number("exponent"),
                   .friction = spec.number("friction"),
                   .smoothing = spec.number("smoothing_speed"),
                   .damping = spec.has_number("damping") ? spec.number("damping") : damping_of(restitution),
                   .remembers = remembers,
                   .rest_speed = spec.number("rest_speed")});
}

}  // namespace

ForceInfo contact() {
  const auto positive = [](std::string name, std::string unit, std::string meaning) {
    return Field{.name = std::move(name),
                 .meaning = std::move(meaning),
                 .minimum = 0.0,
                 .minimum_is_excluded = true,
                 .is_optional = true,
                 .unit = std::move(unit)};
  };
  return {
      .name = "contact",
      .summary = "compliant contact with friction: N = stiffness*depth^exponent*(1 + d*rate of the depth)",
      .place = JointInfo::Place::two_points,
      .place_is_optional = true,
      .axes = 2,
      .axis_is_optional = true,
      .points_may_meet = true,
      .numbers = {{.name = "shapes",
                   .meaning = "of the first and of the second body; points: one of a plane, the middle of other "
                              "shapes; axes: the normal of a plane, towards the second body, and the axis of a "
                              "capsule",
                   .words = {"plane-sphere", "plane-point", "plane-capsule", "sphere-sphere", "sphere-point",
                             "sphere-capsule", "capsule-point", "capsule-capsule"}},
                  positive("first_radius", "m", "of a sphere or capsule of the first body"),
                  positive("second_radius", "m", "of a sphere or capsule of the second body"),
                  positive("first_length", "m", "of a capsule of the first body, between the centres of its ends"),
                  positive("second_length", "m", "of a capsule of the second body, between the centres of its ends"),
                  {.name = "stiffness",
                   .meaning = "normal force per depth^exponent",
                   .default_number = NAN,
                   .minimum = 0.0,
                   .minimum_is_excluded = true,
                   .unit = "N/m^exponent"},
                  {.name = "exponent",
                   .meaning = "of the depth; 1.5 for spheres (Hertz)",
                   .default_number = 1.5,
                   .minimum = 1.0,
                   .maximum = 10.0},
                  {.name = "restitution",
                   .meaning = "ratio of the speeds after and before an impact; the latter is stored at the touch",
                   .minimum = 0.01,
                   .maximum = 1.0,
                   .is_optional = true,
                   .fallback = "1"},
                  {.name = "damping",
                   .meaning = "d, instead of the restitution",
                   .minimum = 0.0,
                   .is_optional = true,
                   .unit = "s/m"},
                  {.name = "rest_speed",
                   .meaning = "slower impacts lose more than the restitution gives",
                   .default_number = 0.01,
                   .minimum = 0.0,
                   .minimum_is_excluded = true,
                   .unit = "m/s"},
                  {.name = "friction", .meaning = "coefficient", .minimum = 0.0},
                  {.name = "smoothing_speed",
                   .meaning = "sliding speed at which 76 % of the friction is reached",
                   .default_number = 0.01,
                   .minimum = 0.0,
                   .minimum_is_excluded = true,
                   .unit = "m/s"}},
      .build = build_contact};
}

}  // namespace kreisel::multibody
