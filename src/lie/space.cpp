#include "kreisel/groups.hpp"

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
  for (const Block& block : blocks_) {
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
