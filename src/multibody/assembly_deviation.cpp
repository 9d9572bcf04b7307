// In which elements two assemblies differ.
#include <array>
#include <random>
#include <set>
#include <typeinfo>

#include "multibody/law.hpp"
#include "multibody/rigid_body.hpp"
#include "parts.hpp"

namespace kreisel::multibody {

using lie::Motion;

namespace {

/// Elements whose contributions are analytic in the motion and in their numbers, so that none of these can differ unseen. Tables, drivers,
/// contacts and what the user has written may differ at times and places that no test meets.
bool is_seen_everywhere(const Element& a, const Element& b) {
  if (dynamic_cast<const RigidBody*>(&a) != nullptr) return true;
  if (const auto* joint = dynamic_cast<const Joint*>(&a))
    return !joint->is_driver() && !joint->depends_on_time() && joint->type() != "cam" && joint->type() != "wheel";
  if (dynamic_cast<const MeasuredForce*>(&a) != nullptr) return a.signals().empty() && b.signals().empty();
  const auto *law = dynamic_cast<const Law*>(&a), *other = dynamic_cast<const Law*>(&b);
  return law != nullptr && other != nullptr && law->has_formula_of(*other);
}

}  // namespace

class Assembly::Difference final : public system::Deviation {
 public:
  Difference(const Assembly& a, const Assembly& b) : of_{&a, &b} {
    const int rows = a.pattern().rows(), position_rows = a.pattern().position_rows();
    for (Vector& values : sums_) values.setZero(a.space().nv());
    for (Vector& values : gaps_) values.setZero(position_rows);
    for (Vector& values : rates_) values.setZero(rows);
    const std::vector<Motion> motions = some_motions(a.space());
    std::mt19937 random(2);
    Vector lambda(rows);
    for (double& x : lambda) x = std::uniform_real_distribution<double>(-2.0, 2.0)(random);
    for (Course Assembly::*course : {&Assembly::inertia_, &Assembly::rows_, &Assembly::loads_}) {
      const bool has_rows = course == &Assembly::rows_;
      const std::vector<Place>&places = (a.*course).places, &others = (b.*course).places;
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (!is_alike(places[i], others[i], has_rows, motions, lambda))
          pairs_.push_back({{&places[i], &others[i]}, has_rows});
      }
    }
    std::set<std::pair<int, int>> forces, gap_rows, rate_rows;
    for (const Pair& pair : pairs_) {
      const Place& place = *pair.places[0];
      for (int i = 0; i < place.slot_count; ++i)
        if (const Slot& slot = a.slots_[static_cast<std::size_t>(place.slot_at + i)]; !slot.is_ground())
          forces.insert({slot.v_at, slot.nv});
      if (!pair.has_rows) continue;
      rate_rows.insert({place.row, place.rows});
      if (place.row < position_rows) gap_rows.insert({place.row, place.rows});
    }
    for (const auto& [at, size] : forces) force_.push_back({at, size});
    for (const auto& [at, size] : gap_rows) gap_.push_back({at, size});
    for (const auto& [at, size] : rate_rows) rate_.push_back({at, size});
  }

  void residual(const Motion& m, ConstVectorRef lambda, double scale, system::Residual& out) override {
    evaluate(m, lambda.data(), false);
    store(force_, sums_, scale, out.force);
    store(gap_, gaps_, scale, out.gap);
    store(rate_, rates_, scale, out.rate);
  }
  void constraint_force(const Motion& m, ConstVectorRef mu, double scale, VectorRef out) override {
    evaluate(m, mu.data(), true);
    store(force_, sums_, scale, out);
  }

  /// Whether `b` has the places of `a`, one by one.
  static bool is_built_alike(const Assembly& a, const Assembly& b) {
    if (a.space().nv() != b.space().nv() || a.space().nq() != b.space().nq() || a.slots_.size() != b.slots_.size() ||
        a.pattern().rows() != b.pattern().rows() || a.pattern().position_rows() != b.pattern().position_rows())
      return false;
    for (std::size_t i = 0; i < a.slots_.size(); ++i) {
      const Slot &s = a.slots_[i], &o = b.slots_[i];
      if (s.node != o.node || s.group != o.group || s.nv != o.nv || s.q_at != o.q_at || s.v_at != o.v_at) return false;
    }
    for (Course Assembly::*course : {&Assembly::inertia_, &Assembly::rows_, &Assembly::loads_}) {
      const std::vector<Place>&places = (a.*course).places, &others = (b.*course).places;
      if (places.size() != others.size()) return false;
      for (std::size_t i = 0; i < places.size(); ++i)
        if (typeid(*places[i].element) != typeid(*others[i].element) || places[i].slot_at != others[i].slot_at ||
            places[i].slot_count != others[i].slot_count || places[i].row != others[i].row ||
            places[i].rows != others[i].rows)
          return false;
    }
    return true;
  }

 private:
  struct Pair {
    std::array<const Place*, 2> places;
    bool has_rows = false;
  };

  /// On which functions that are analytic cannot all agree by chance.
  static std::vector<Motion> some_motions(const lie::Space& space) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> number(-1.5, 1.5);
    std::vector<Motion> motions(2, Motion(space));
    Vector step(space.nv());
    for (Motion& m : motions) {
      m.t = 1.0 + number(random);
      for (double& x : step) x = number(random);
      space.move(m.q, step, m.q);
      for (Vector* values : {&m.v, &m.a})
        for (double& x : *values) x = number(random);
    }
    return motions;
  }

  bool is_alike(const Place& a, const Place& b, bool has_rows, const std::vector<Motion>& motions,
                const Vector& lambda) {
    if (a.element == b.element && of_[0]->inputs().empty()) return true;
    if (!is_seen_everywhere(*a.element, *b.element) || !of_[0]->inputs().empty()) return false;
    const auto take_if_same = [](Vector* values, int at, int size) {
      bool is_same = true;
      for (int i = at; i < at + size; ++i) {
        is_same = is_same && values[0][i] == values[1][i];
        values[0][i] = values[1][i] = 0.0;
      }
      return is_same;
    };
    const Place* const places[2] = {&a, &b};
    const auto *law = dynamic_cast<const Law*>(a.element), *other = dynamic_cast<const Law*>(b.element);
    for (const Motion& m : motions) {
      BodyStates bodies;
      // A formula may be zero at every motion that is tested, as that of a slack rope: then its gauges tell.
      if (law != nullptr && !law->has_gauges_of(*other, instant(*of_[0], a, m, lambda.data(), bodies))) return false;
      for (int side = 0; side < 2; ++side)
        add(*of_[side], *places[side], has_rows, false, m, lambda.data(), bodies, side);
      bool is_same = true;
      for (int i = 0; i < a.slot_count; ++i)
        if (const Slot& slot = of_[0]->slots_[static_cast<std::size_t>(a.slot_at + i)]; !slot.is_ground())
          is_same = take_if_same(sums_.data(), slot.v_at, slot.nv) && is_same;
      if (has_rows) is_same = take_if_same(rates_.data(), a.row, a.rows) && is_same;
      if (has_rows && a.row < gaps_[0].size()) is_same = take_if_same(gaps_.data(), a.row, a.rows) && is_same;
      if (!is_same) return false;
    }
    return true;
  }

  static Instant instant(const Assembly& assembly, const Place& place, const Motion& m, const double* lambda,
                         BodyStates& bodies) {
    return {m.t,        m.q.data(),         m.v.data(),
            m.a.data(), lambda + place.row, assembly.slots_.data() + place.slot_at,
            &bodies,    &assembly.inputs_};
  }

  void add(const Assembly& assembly, const Place& place, bool has_rows, bool is_force_alone, const Motion& m,
           const double* lambda, BodyStates& bodies, int side) {
    const Instant at = instant(assembly, place, m, lambda, bodies);
    const Forces forces{sums_[side].data(), at.slots};
    if (!has_rows) return place.element->add_force(at, forces);
    double* gap = place.row < assembly.pattern().position_rows() ? gaps_[side].data() + place.row : nullptr;
    if (!is_force_alone)
      place.element->constraint_with_force(at, gap, rates_[side].data() + place.row, forces);
    else if (gap != nullptr)
      place.element->add_constraint_force(at, at.lambda, forces);
  }

  void evaluate(const Motion& m, const double* lambda, bool is_force_alone) {
    BodyStates bodies;  // the same for both
    for (const Pair& pair : pairs_) {
      if (is_force_alone && !pair.has_rows) continue;
      for (int side = 0; side < 2; ++side)
        add(*of_[side], *pair.places[static_cast<std::size_t>(side)], pair.has_rows, is_force_alone, m, lambda, bodies,
            side);
    }
  }

  /// And clears the sums.
  static void store(const std::vector<Range>& ranges, std::array<Vector, 2>& sums, double scale, VectorRef out) {
    for (const Range& r : ranges)
      for (int i = r.at; i < r.at + r.size; ++i) {
        out[i] = scale * (sums[0][i] - sums[1][i]);
        sums[0][i] = sums[1][i] = 0.0;
      }
  }

  std::array<const Assembly*, 2> of_;
  std::vector<Pair> pairs_;
  std::array<Vector, 2> sums_, gaps_, rates_;
};

std::unique_ptr<system::Deviation> Assembly::deviation_from(const system::System& other) const {
  const auto* b = dynamic_cast<const Assembly*>(&other);
  if (b == nullptr || !Difference::is_built_alike(*this, *b)) return nullptr;
  return std::make_unique<Difference>(*this, *b);
}

}  // namespace kreisel::multibody
