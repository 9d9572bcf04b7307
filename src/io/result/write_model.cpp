#include "io/result/write_model.hpp"

#include <fmt/format.h>

#include "io/model_file/model_catalogue.hpp"
#include "kreisel/error.hpp"
#include "lie/so3.hpp"
#include "multibody/assembly.hpp"

namespace kreisel::io {
namespace {

Json list_of(ConstVectorRef x) {
  Json list = Json::array();
  for (const double entry : x) list.push_back(entry);
  return list;
}

/// Bodies that differ from the start that the file alone would give, and all states: turns follow the bodies unless given.
Json start_of(const multibody::Assembly& assembly, const system::Start& start, const system::Start& drawn) {
  Json bodies = Json::object(), states = Json::object();
  bool has_moved = false;
  for (std::size_t n = 0; n < assembly.space().blocks().size(); ++n) {
    const lie::Block& block = assembly.space().blocks()[n];
    const auto q = start.q0.segment(block.q_at, block.nq), old_q = drawn.q0.segment(block.q_at, block.nq);
    const auto v = start.v0.segment(block.v_at, block.nv), old_v = drawn.v0.segment(block.v_at, block.nv);
    if (static_cast<int>(n) >= assembly.body_count()) {
      const std::size_t node = n - assembly.mechanism().bodies.size();
      if (node >= assembly.mechanism().nodes.size() || block.nq != 1) continue;
      states[assembly.mechanism().nodes[node].name] = q[0];
      has_moved = has_moved || q != old_q;
      continue;
    }
    if (q == old_q && v == old_v) continue;
    Json& body = bodies[assembly.body_name(static_cast<int>(n))];
    const Eigen::Vector4d quaternion = q.segment<4>(3);
    const Vector3 velocity = v.head<3>();
    body["position"] = list_of(q.head<3>());
    body["rotation"]["quaternion"] = {quaternion[3], quaternion[0], quaternion[1], quaternion[2]};
    body["velocity"] = list_of(
        block.group == lie::GroupId::se3 ? Vector3(lie::rotation_matrix(quaternion.data()) * velocity) : velocity);
    body["angular_velocity"] = list_of(v.tail<3>());
  }
  Json out = Json::object();
  if (bodies.empty() && !has_moved) return out;
  if (!bodies.empty()) out["bodies"] = std::move(bodies);
  if (!states.empty()) out["states"] = std::move(states);
  return out;
}

}  // namespace

Json written_model(const PreparedRun& run) {
  const auto* assembly = dynamic_cast<const multibody::Assembly*>(run.model.system.get());
  if (assembly == nullptr || !run.model.definition)
    throw InvalidInput(fmt::format("'{}' is built into the program: no model file describes it", run.model.name));
  if (run.model.start.t0 != 0.0) throw InvalidInput("a model file starts at t = 0, but this run does not");
  Json root = Json::parse(run.model.definition());
  // The bodies are at the final positions already.
  if (root.contains("simulation") && root["simulation"].is_object())
    for (const char* key : {"assemble", "fix", "start"}) root["simulation"].erase(key);
  const auto source = std::make_shared<const JsonSource>(run.model.name, root.dump());
  const models::Model drawn = models::make_model(model_of(source, true), run.model.group, {});
  Json start = start_of(*assembly, run.model.start, drawn.start);
  if (start.empty()) return root;
  if (root.contains("start"))
    for (const auto& item : start.items())
      for (const auto& entry : item.value().items()) root["start"][item.key()][entry.key()] = entry.value();
  else
    root["start"] = std::move(start);
  return root;
}

}  // namespace kreisel::io
