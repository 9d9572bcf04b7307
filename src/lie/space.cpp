#include "kreisel/groups.hpp"

#include "base/lanes.hpp"
#include "kreisel/error.hpp"
#include "lie/all_groups.hpp"

namespace kreisel::lie {
namespace {

using Segment = Eigen::Map<Vector>;
using ConstSegment = Eigen::Map<const Vector>;

// The arguments are contiguous, so a block is a pointer and a size known to the compiler.
template <class G>
typename G::Point point_at(const ConstVectorRef& q, const Block& block) {
  return Eigen::Map<const typename G::Point>(q.data() + block.q_at);
}

template <class G>
typename G::Tangent tangent_at(const ConstVectorRef& v, const Block& block) {
  return Eigen::Map<const typename G::Tangent>(v.data() + block.v_at);
}

template <class Value>
void store(const Value& value, double* out) {
  Eigen::Map<Value>{out} = value;
}

int embedding_size_of(const Block& block) {
  return with_group(
      block.group, [&] { return block.nv; }, []<class G>(G) { return G::embedding_size; });
}

/// q∘exp(x) of two rigid motions at once, with the operations of SE3::compose and SE3::exp in their order; false for turns beyond
/// the short series. `out` may be `q`.
[[gnu::flatten]] bool move_both(const double* q, const double* x, double* out) {
  using series::stumpff_terms;
  const Gather<Lanes> at{q, q + SE3::nq}, by{x, x + SE3::nv};
  const Triple<Lanes> u = triple_at(by, 0), omega = triple_at(by, 3);
  const Lanes s = dot(omega, omega);
  if (!(s[0] < small_angle2 && s[1] < small_angle2)) return false;
  const auto polynomial = []<std::size_t n>(const std::array<double, n>& r, Lanes z) {
    Lanes sum = r[n - 1];
    for (std::size_t i = n - 1; i-- > 0;) sum = sum * z + Lanes(r[i]);
    return sum;
  };
  const Lanes quarter = Lanes(0.25) * s;
  const Lanes sine = Lanes(0.5) * polynomial(stumpff_terms<1, series::small_half_angle - 1>, quarter),
              cosine = polynomial(stumpff_terms<0, series::small_half_angle>, quarter);
  const Lanes b = Lanes(2.0) * sine * sine, c = polynomial(stumpff_terms<3, series::small_stumpff>, s);
  const Triple<Lanes> wu = cross(omega, u), way = u + b * wu + c * cross(omega, wu), r = sine * omega;
  const Triple<Lanes> p = triple_at(at, 3);
  const Lanes w = at[6];
  const Triple<Lanes> t = Lanes(2.0) * cross(p, way), turned = way + w * t + cross(p, t),
                      to = triple_at(at, 0) + turned;
  const Lanes qx = w * r.x + p.x * cosine + p.y * r.z - p.z * r.y, qy = w * r.y + p.y * cosine + p.z * r.x - p.x * r.z,
              qz = w * r.z + p.z * cosine + p.x * r.y - p.y * r.x, qw = w * cosine - p.x * r.x - p.y * r.y - p.z * r.z;
  const Lanes scale = Lanes(1.5) - Lanes(0.5) * (qx * qx + qy * qy + qz * qz + qw * qw);
  const Lanes result[SE3::nq] = {to.x, to.y, to.z, scale * qx, scale * qy, scale * qz, scale * qw};
  for (int i = 0; i < SE3::nq; ++i) {
    out[i] = result[i][0];
    out[SE3::nq + i] = result[i][1];
  }
  return true;
}

MatrixMap matrix_at(VectorRef& out, const Block& block) { return {out.data() + block.matrix_at, block.nv, block.nv}; }

}  // namespace

std::string_view name_of(GroupId id) {
  return with_group(
      id, [] { return Rn<1>::name; }, []<class G>(G) { return G::name; });
}

GroupId group_named(std::string_view name) {
  for (const GroupId id : all_groups)
    if (name_of(id) == name) return id;
  throw InvalidInput(unknown_name("group", name, group_names()));
}

std::vector<std::string> group_names() {
  std::vector<std::string> names;
  for (const GroupId id : all_groups) names.emplace_back(name_of(id));
  return names;
}

Space::Space(const std::vector<Factor>& factors) {
  blocks_.reserve(factors.size());
  for (const Factor& factor : factors) {
    Block block{.group = factor.group, .q_at = nq_, .v_at = nv_, .matrix_at = block_diagonal_size_};
    with_group(
        factor.group, [&] { block.nq = block.nv = factor.n; },
        [&]<class G>(G) {
          block.nq = G::nq;
          block.nv = G::nv;
        });
    if (block.nv < 1)
      throw InvalidInput("space, factor " + std::to_string(blocks_.size() + 1) + " (" +
                         std::string(name_of(block.group)) + "): dimension is " + std::to_string(factor.n) +
                         ", expected at least 1");
    nq_ += block.nq;
    nv_ += block.nv;
    block_diagonal_size_ += block.nv * block.nv;
    embedding_size_ += embedding_size_of(block);
    is_commutative_ = is_commutative_ && block.group == GroupId::rn;
    blocks_.push_back(block);
  }
}

void Space::set_identity(VectorRef q) const {
  for (const Block& block : blocks_) {
    double* const at = q.data() + block.q_at;
    with_group(
        block.group, [&] { Segment(at, block.nq).setZero(); }, [&]<class G>(G) { store(G::identity(), at); });
  }
}

void Space::move(ConstVectorRef q, ConstVectorRef x, VectorRef out) const {
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    // Blocks follow each other without gaps.
    const bool is_pair = block.group == GroupId::se3 && b + 1 < blocks_.size() && blocks_[b + 1].group == GroupId::se3;
    if (is_pair && move_both(q.data() + block.q_at, x.data() + block.v_at, out.data() + block.q_at)) {
      ++b;
      continue;
    }
    double* const at = out.data() + block.q_at;
    with_group(
        block.group,
        [&] {
          Segment(at, block.nq) =
              ConstSegment(q.data() + block.q_at, block.nq) + ConstSegment(x.data() + block.v_at, block.nv);
        },
        [&]<class G>(G) { store(G::compose(point_at<G>(q, block), G::exp(tangent_at<G>(x, block))), at); });
  }
}

void Space::difference(ConstVectorRef q0, ConstVectorRef q1, VectorRef out) const {
  for (const Block& block : blocks_) {
    double* const at = out.data() + block.v_at;
    with_group(
        block.group,
        [&] {
          Segment(at, block.nv) =
              ConstSegment(q1.data() + block.q_at, block.nq) - ConstSegment(q0.data() + block.q_at, block.nq);
        },
        [&]<class G>(G) { store(G::log(G::compose(G::inverse(point_at<G>(q0, block)), point_at<G>(q1, block))), at); });
  }
}

void Space::bracket(ConstVectorRef a, ConstVectorRef b, VectorRef out) const {
  for (const Block& block : blocks_) {
    double* const at = out.data() + block.v_at;
    with_group(
        block.group, [&] { Segment(at, block.nv).setZero(); },
        [&]<class G>(G) { store(G::bracket(tangent_at<G>(a, block), tangent_at<G>(b, block)), at); });
  }
}

void Space::tangent(ConstVectorRef x, ConstVectorRef y, VectorRef out) const {
  for (const Block& block : blocks_) {
    double* const at = out.data() + block.v_at;
    with_group(
        block.group, [&] { Segment(at, block.nv) = ConstSegment(y.data() + block.v_at, block.nv); },
        [&]<class G>(G) { store(G::tangent(tangent_at<G>(x, block), tangent_at<G>(y, block)), at); });
  }
}

void Space::tangent_inverse(ConstVectorRef x, ConstVectorRef y, VectorRef out) const {
  for (const Block& block : blocks_) {
    double* const at = out.data() + block.v_at;
    with_group(
        block.group, [&] { Segment(at, block.nv) = ConstSegment(y.data() + block.v_at, block.nv); },
        [&]<class G>(G) { store(G::tangent_inverse(tangent_at<G>(x, block), tangent_at<G>(y, block)), at); });
  }
}

void Space::tangent_blocks(ConstVectorRef x, VectorRef out) const {
  for (const Block& block : blocks_) {
    with_group(
        block.group, [&] { matrix_at(out, block).setIdentity(); },
        [&]<class G>(G) { store(G::tangent(tangent_at<G>(x, block)), out.data() + block.matrix_at); });
  }
}

void Space::tangent_inverse_blocks(ConstVectorRef x, VectorRef out) const {
  for (const Block& block : blocks_) {
    with_group(
        block.group, [&] { matrix_at(out, block).setIdentity(); },
        [&]<class G>(G) { store(G::tangent_inverse(tangent_at<G>(x, block)), out.data() + block.matrix_at); });
  }
}

void Space::hat_blocks(ConstVectorRef x, VectorRef out) const {
  for (const Block& block : blocks_) {
    with_group(
        block.group, [&] { matrix_at(out, block).setZero(); },
        [&]<class G>(G) { store(G::hat(tangent_at<G>(x, block)), out.data() + block.matrix_at); });
  }
}

void Space::embed(ConstVectorRef q, VectorRef out) const {
  double* at = out.data();
  for (const Block& block : blocks_) {
    with_group(
        block.group, [&] { Segment(at, block.nq) = ConstSegment(q.data() + block.q_at, block.nq); },
        [&]<class G>(G) { store(G::embed(point_at<G>(q, block)), at); });
    at += embedding_size_of(block);
  }
}

}  // namespace kreisel::lie
