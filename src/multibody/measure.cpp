#include "multibody/measure.hpp"

#include <cmath>

namespace kreisel::multibody {

namespace {

// Every block below follows from δ(R p) = -R p̃ δθ and δ(Rᵀ z) = skew(Rᵀ z) δθ.

class Cosine final : public Measure {
 public:
  Cosine(int a, const Vector3& e, int b, const Vector3& f) : a_(a), b_(b), e_(e), f_(f) {}

  double value(const BodyState* s) const override { return (s[a_].R * e_).dot(s[b_].R * f_); }
  double rate(const BodyState* s) const override {
    return (s[a_].R * s[a_].w.cross(e_)).dot(s[b_].R * f_) + (s[a_].R * e_).dot(s[b_].R * s[b_].w.cross(f_));
  }
  double curve(const BodyState* s) const override {
    const BodyState &a = s[a_], &b = s[b_];
    const Vector3 e1 = a.w.cross(e_), f1 = b.w.cross(f_);
    return (a.R * a.w.cross(e1)).dot(b.R * f_) + 2.0 * (a.R * e1).dot(b.R * f1) + (a.R * e_).dot(b.R * b.w.cross(f1));
  }
  void add_slopes(const BodyState* s, double scale, Slopes& out) const override {
    const Vector3 c = s[a_].R * e_, d = s[b_].R * f_;
    out[a_].tail<3>() += scale * e_.cross(s[a_].R.transpose() * d);
    out[b_].tail<3>() += scale * f_.cross(s[b_].R.transpose() * c);
  }
  void add_curvature(const BodyState* s, double scale, Curvature& out) const override {
    const Matrix3 e = scale * skew(e_), f = scale * skew(f_), relative = s[a_].R.transpose() * s[b_].R;
    const Matrix3 mixed = e * relative * skew(f_);
    out(a_, a_).bottomRightCorner<3, 3>() += e * skew(relative * f_);
    out(b_, b_).bottomRightCorner<3, 3>() += f * skew(relative.transpose() * e_);
    out(a_, b_).bottomRightCorner<3, 3>() -= mixed;
    out(b_, a_).bottomRightCorner<3, 3>() -= mixed.transpose();
  }

 private:
  int a_, b_;
  Vector3 e_, f_;
};

/// With c = R_a e, s = P_b - x_a, y = R_aᵀ s: ξ = e·y - e·p_a.
class Offset final : public Measure {
 public:
  Offset(int a, const Vector3& p_a, const Vector3& e, int b, const Vector3& p_b)
      : a_(a), b_(b), p_a_(p_a), e_(e), p_b_(p_b) {}

  double value(const BodyState* s) const override { return (s[a_].R * e_).dot(s[b_].point(p_b_) - s[a_].point(p_a_)); }
  double rate(const BodyState* s) const override {
    const BodyState &a = s[a_], &b = s[b_];
    return (a.R * a.w.cross(e_)).dot(b.point(p_b_) - a.point(p_a_)) +
           (a.R * e_).dot(b.point_velocity(p_b_) - a.point_velocity(p_a_));
  }
  double curve(const BodyState* s) const override {
    const BodyState &a = s[a_], &b = s[b_];
    const Vector3 e1 = a.w.cross(e_);
    return (a.R * a.w.cross(e1)).dot(b.point(p_b_) - a.point(p_a_)) +
           2.0 * (a.R * e1).dot(b.point_velocity(p_b_) - a.point_velocity(p_a_)) +
           (a.R * e_).dot(b.point_curve(p_b_) - a.point_curve(p_a_));
  }
  void add_slopes(const BodyState* s, double scale, Slopes& out) const override {
    const BodyState &a = s[a_], &b = s[b_];
    const Vector3 c = a.R * e_, y = a.R.transpose() * (b.point(p_b_) - a.x);
    out[a_].head<3>() -= scale * c;
    out[a_].tail<3>() += scale * e_.cross(y);
    out[b_].head<3>() += scale * c;
    out[b_].tail<3>() += scale * p_b_.cross(b.R.transpose() * c);
  }
  void add_curvature(const BodyState* s, double scale, Curvature& out) const override {
    const BodyState &a = s[a_], &b = s[b_];
    const Vector3 c = a.R * e_, y = a.R.transpose() * (b.point(p_b_) - a.x);
    const Matrix3 e = scale * skew(e_), turn = a.R * e, arm = b.R * skew(p_b_);
    out(a_, a_).topRightCorner<3, 3>() += turn;
    out(b_, a_).topRightCorner<3, 3>() -= turn;
    out(a_, a_).bottomLeftCorner<3, 3>() += turn.transpose();
    out(a_, b_).bottomLeftCorner<3, 3>() -= turn.transpose();
    out(a_, a_).bottomRightCorner<3, 3>() += e * skew(y);
    out(a_, b_).bottomRightCorner<3, 3>() += turn.transpose() * arm;
    out(b_, a_).bottomRightCorner<3, 3>() += arm.transpose() * turn;
    out(b_, b_).bottomRightCorner<3, 3>() += scale * skew(p_b_) * skew(b.R.transpose() * c);
  }

 private:
  int a_, b_;
  Vector3 p_a_, e_, p_b_;
};

/// With r = P_b - P_a, n = r/|r|, J = ∂r: slopes Jᵀn, curvature Jᵀ(1 - nnᵀ)J/|r| + n·∂²r.
class Distance final : public Measure {
 public:
  Distance(int a, const Vector3& p_a, int b, const Vector3& p_b) : a_(a), b_(b), p_a_(p_a), p_b_(p_b) {}

  double value(const BodyState* s) const override { return span(s).norm(); }
  double rate(const BodyState* s) const override { return span(s).normalized().dot(span_rate(s)); }
  double curve(const BodyState* s) const override {
    const Vector3 r = span(s), r1 = span_rate(s);
    const double length = r.norm();
    const Vector3 n = r / length;
    const double along = n.dot(r1);
    return n.dot(s[b_].point_curve(p_b_) - s[a_].point_curve(p_a_)) + (r1.squaredNorm() - along * along) / length;
  }
  void add_slopes(const BodyState* s, double scale, Slopes& out) const override {
    const Vector3 n = scale * span(s).normalized();
    out[a_].head<3>() -= n;
    out[a_].tail<3>() -= p_a_.cross(s[a_].R.transpose() * n);
    out[b_].head<3>() += n;
    out[b_].tail<3>() += p_b_.cross(s[b_].R.transpose() * n);
  }
  void add_curvature(const BodyState* s, double scale, Curvature& out) const override {
    const Vector3 r = span(s);
    const double length = r.norm();
    const Vector3 n = r / length;
    const Matrix3 across = (scale / length) * (Matrix3::Identity() - n * n.transpose());
    const int slot[2] = {a_, b_};
    const double sign[2] = {-1.0, 1.0};
    const Vector3* p[2] = {&p_a_, &p_b_};
    Eigen::Matrix<double, 3, 6> J[2];
    for (int i = 0; i < 2; ++i) J[i] << sign[i] * Matrix3::Identity(), -sign[i] * (s[slot[i]].R * skew(*p[i]));
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) out(slot[i], slot[j]) += J[i].transpose() * across * J[j];
      out(slot[i], slot[i]).bottomRightCorner<3, 3>() +=
          (sign[i] * scale) * skew(*p[i]) * skew(s[slot[i]].R.transpose() * n);
    }
  }

 private:
  Vector3 span(const BodyState* s) const { return s[b_].point(p_b_) - s[a_].point(p_a_); }
  Vector3 span_rate(const BodyState* s) const { return s[b_].point_velocity(p_b_) - s[a_].point_velocity(p_a_); }

  int a_, b_;
  Vector3 p_a_, p_b_;
};

/// θ = atan2(S, C), S = y_A·x_B, C = x_A·x_B; with N = S² + C²:
/// ∂θ = (C ∂S - S ∂C)/N,  ∂²θ = (C ∂²S - S ∂²C + ∂S∂Cᵀ - ∂C∂Sᵀ)/N - ∂θ (2C ∂C + 2S ∂S)ᵀ/N.
class Angle final : public Measure {
 public:
  Angle(int a, const Matrix3& A, int b, const Matrix3& B)
      : a_(a),
        b_(b),
        x_a_(A.col(0)),
        y_a_(A.col(1)),
        x_b_(B.col(0)),
        sine_(a, y_a_, b, x_b_),
        cosine_(a, x_a_, b, x_b_) {}

  // The two cosines share x_B, and more: their values, rates and slopes are written out.

  double value(const BodyState* s) const override {
    const Vector3 x_B = s[b_].R * x_b_;
    return std::atan2((s[a_].R * y_a_).dot(x_B), (s[a_].R * x_a_).dot(x_B));
  }
  double rate(const BodyState* s) const override {
    const BodyState &a = s[a_], &b = s[b_];
    const Vector3 x_A = a.R * x_a_, y_A = a.R * y_a_, x_B = b.R * x_b_, x_B1 = b.R * b.w.cross(x_b_);
    const double S = y_A.dot(x_B), C = x_A.dot(x_B);
    const double S1 = (a.R * a.w.cross(y_a_)).dot(x_B) + y_A.dot(x_B1),
                 C1 = (a.R * a.w.cross(x_a_)).dot(x_B) + x_A.dot(x_B1);
    return (C * S1 - S * C1) / (S * S + C * C);
  }
  double curve(const BodyState* s) const override {
    const double S = sine_.value(s), C = cosine_.value(s), S1 = sine_.rate(s), C1 = cosine_.rate(s);
    const double N = S * S + C * C, theta1 = (C * S1 - S * C1) / N;
    return (C * sine_.curve(s) - S * cosine_.curve(s) - 2.0 * theta1 * (C * C1 + S * S1)) / N;
  }
  void add_slopes(const BodyState* s, double scale, Slopes& out) const override {
    const BodyState &a = s[a_], &b = s[b_];
    const Vector3 x_A = a.R * x_a_, y_A = a.R * y_a_, x_B = b.R * x_b_;
    const double S = y_A.dot(x_B), C = x_A.dot(x_B), N = S * S + C * C;
    const double by_sine = scale * C / N, by_cosine = -scale * S / N;
    const Vector3 in_a = a.R.transpose() * x_B;
    out[a_].tail<3>() += by_sine * y_a_.cross(in_a);
    out[a_].tail<3>() += by_cosine * x_a_.cross(in_a);
    out[b_].tail<3>() += by_sine * x_b_.cross(b.R.transpose() * y_A);
    out[b_].tail<3>() += by_cosine * x_b_.cross(b.R.transpose() * x_A);
  }
  void add_curvature(const BodyState* s, double scale, Curvature& out) const override {
    const double S = sine_.value(s), C = cosine_.value(s), N = S * S + C * C;
    Slopes dS, dC;
    for (const int i : {a_, b_}) dS[i].setZero(), dC[i].setZero();
    sine_.add_slopes(s, 1.0, dS);
    cosine_.add_slopes(s, 1.0, dC);
    sine_.add_curvature(s, scale * C / N, out);
    cosine_.add_curvature(s, -scale * S / N, out);
    for (const int i : {a_, b_}) {
      const Vector6 slope = (C * dS[i] - S * dC[i]) / N;
      for (const int j : {a_, b_}) {
        out(i, j) += (scale / N) * (dS[i] * dC[j].transpose() - dC[i] * dS[j].transpose());
        out(i, j) -= (2.0 * scale / N) * slope * (C * dC[j] + S * dS[j]).transpose();
      }
    }
  }

 private:
  int a_, b_;
  Vector3 x_a_, y_a_, x_b_;
  Cosine sine_, cosine_;
};

class Combination final : public Measure {
 public:
  Combination(double c1, MeasurePtr first, double c2, MeasurePtr second)
      : c1_(c1), c2_(c2), first_(std::move(first)), second_(std::move(second)) {}

  double value(const BodyState* s) const override { return c1_ * first_->value(s) + c2_ * second_->value(s); }
  double rate(const BodyState* s) const override { return c1_ * first_->rate(s) + c2_ * second_->rate(s); }
  double curve(const BodyState* s) const override { return c1_ * first_->curve(s) + c2_ * second_->curve(s); }
  void add_slopes(const BodyState* s, double scale, Slopes& out) const override {
    first_->add_slopes(s, c1_ * scale, out);
    second_->add_slopes(s, c2_ * scale, out);
  }
  void add_curvature(const BodyState* s, double scale, Curvature& out) const override {
    first_->add_curvature(s, c1_ * scale, out);
    second_->add_curvature(s, c2_ * scale, out);
  }

 private:
  double c1_, c2_;
  MeasurePtr first_, second_;
};

/// ∂f = f₁∂ξ₁ + f₂∂ξ₂, ∂²f = f₁∂²ξ₁ + f₂∂²ξ₂ + Σ f_kl ∂ξ_k ∂ξ_lᵀ.
class Composite final : public Measure {
 public:
  Composite(int a, int b, MeasurePtr first, MeasurePtr second, std::function<PlaneJet(double, double)> f)
      : a_(a), b_(b), first_(std::move(first)), second_(std::move(second)), f_(std::move(f)) {}

  double value(const BodyState* s) const override { return at(s).value; }
  double rate(const BodyState* s) const override {
    const PlaneJet f = at(s);
    return f.by_1 * first_->rate(s) + f.by_2 * second_->rate(s);
  }
  double curve(const BodyState* s) const override {
    const PlaneJet f = at(s);
    const double rate_1 = first_->rate(s), rate_2 = second_->rate(s);
    return f.by_1 * first_->curve(s) + f.by_2 * second_->curve(s) + f.by_11 * rate_1 * rate_1 +
           2.0 * f.by_12 * rate_1 * rate_2 + f.by_22 * rate_2 * rate_2;
  }
  void add_slopes(const BodyState* s, double scale, Slopes& out) const override {
    const PlaneJet f = at(s);
    first_->add_slopes(s, scale * f.by_1, out);
    second_->add_slopes(s, scale * f.by_2, out);
  }
  void add_curvature(const BodyState* s, double scale, Curvature& out) const override {
    const PlaneJet f = at(s);
    Slopes along_1, along_2;
    for (const int i : {a_, b_}) along_1[i].setZero(), along_2[i].setZero();
    first_->add_slopes(s, 1.0, along_1);
    second_->add_slopes(s, 1.0, along_2);
    first_->add_curvature(s, scale * f.by_1, out);
    second_->add_curvature(s, scale * f.by_2, out);
    for (const int i : {a_, b_})
      for (const int j : {a_, b_})
        out(i, j) += scale * (along_1[i] * (f.by_11 * along_1[j] + f.by_12 * along_2[j]).transpose() +
                              along_2[i] * (f.by_12 * along_1[j] + f.by_22 * along_2[j]).transpose());
  }

 private:
  PlaneJet at(const BodyState* s) const { return f_(first_->value(s), second_->value(s)); }

  int a_, b_;
  MeasurePtr first_, second_;
  std::function<PlaneJet(double, double)> f_;
};

}  // namespace

MeasurePtr function_of(int a, int b, MeasurePtr first, MeasurePtr second, std::function<PlaneJet(double, double)> f) {
  return std::make_unique<Composite>(a, b, std::move(first), std::move(second), std::move(f));
}

MeasurePtr cosine(int a, const Vector3& e, int b, const Vector3& f) { return std::make_unique<Cosine>(a, e, b, f); }

MeasurePtr offset(int a, const Vector3& p_a, const Vector3& e, int b, const Vector3& p_b) {
  return std::make_unique<Offset>(a, p_a, e, b, p_b);
}

MeasurePtr distance(int a, const Vector3& p_a, int b, const Vector3& p_b) {
  return std::make_unique<Distance>(a, p_a, b, p_b);
}

MeasurePtr angle(int a, const Matrix3& A, int b, const Matrix3& B) { return std::make_unique<Angle>(a, A, b, B); }

double turns_between(double angle, double turned) { return std::round((turned - angle) / (2.0 * M_PI)); }

double unwrapped(double angle, double turned) { return angle + 2.0 * M_PI * turns_between(angle, turned); }

MeasurePtr combination(double c1, MeasurePtr first, double c2, MeasurePtr second) {
  return std::make_unique<Combination>(c1, std::move(first), c2, std::move(second));
}

MeasurePtr small_rotation(int a, const Matrix3& A, int b, const Matrix3& B, int axis) {
  const int j = (axis + 1) % 3, k = (axis + 2) % 3;
  return combination(0.5, cosine(a, A.col(k), b, B.col(j)), -0.5, cosine(a, A.col(j), b, B.col(k)));
}

}  // namespace kreisel::multibody
