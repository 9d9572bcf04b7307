// Output of a model by run, check and list: as one model file, as a graph, as a list of names.
#include "model_output.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "io/files/files.hpp"
#include "io/result/prepare.hpp"
#include "io/result/summary.hpp"
#include "io/result/topology.hpp"
#include "io/result/write_model.hpp"
#include "kreisel/error.hpp"

namespace kreisel::apps {
namespace {

using io::Json;

const multibody::Assembly& mechanism_of(const models::Model& model) {
  const auto* assembly = dynamic_cast<const multibody::Assembly*>(model.system.get());
  if (assembly == nullptr)
    throw InvalidInput(fmt::format("'{}' is a system of equations, not a mechanism of bodies and joints", model.name));
  return *assembly;
}

/// Runs Graphviz; false when it is missing or fails.
bool drawn(const io::Path& dot, const io::Path& svg) {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    execlp("dot", "dot", "-Tsvg", "-o", svg.c_str(), dot.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Json names_on(const multibody::Assembly& assembly, const std::vector<int>& nodes) {
  Json names = Json::array();
  for (const int n : nodes)
    if (n < assembly.body_count()) names.push_back(n == multibody::ground ? "ground" : assembly.body_name(n));
  return names;
}

}  // namespace

void write_model(const io::PreparedRun& run, const std::string& file) {
  if (file.empty()) return;
  io::refuse_to_overwrite(run.options.sources, file, "write_model");
  io::write_atomically(file, io::written_model(run).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void write_graph(const io::PreparedRun& run, const std::string& file) {
  if (file.empty()) return;
  io::refuse_to_overwrite(run.options.sources, file, "graph");
  const std::string text = io::graph_of(mechanism_of(run.model));
  if (file.ends_with(".dot") || file.ends_with(".gv")) return io::write_atomically(file, text);
  if (!file.ends_with(".svg"))
    throw InvalidInput(fmt::format("--graph: '{}', expected a file that ends with .dot or .svg", file));
  const io::Path dot = file + ".dot";
  io::write_atomically(dot, text);
  const bool is_drawn = drawn(dot, file);
  std::error_code error;
  if (is_drawn)
    std::filesystem::remove(dot, error);
  else
    throw InvalidInput(
        fmt::format("--graph: Graphviz (the program dot) is missing or failed; the graph is in {}", dot.string()));
}

Json names_of_model(const io::RunSpec& spec) {
  const io::PreparedRun run = io::prepare(spec);
  const models::Model& model = run.model;
  const system::System& system = *model.system;
  Json out{{"model", model.name},      {"parameters", Json::array()}, {"inputs", Json::array()},
           {"outputs", Json::array()}, {"states", Json::array()},     {"bodies", Json::array()},
           {"joints", Json::array()},  {"drivers", Json::array()},    {"forces", Json::array()},
           {"events", Json::array()}};
  for (const ParameterInfo& info : run.model_info->parameters) {
    Json entry{{"name", info.name}, {"unit", info.unit}, {"meaning", info.meaning}};
    if (!info.words.empty())
      entry["value"] = run.model_parameters.word(info.name);
    else
      entry["value"] =
          run.model_parameters.is_set(info.name) ? io::number_or_null(run.model_parameters.number(info.name)) : Json();
    out["parameters"].push_back(std::move(entry));
  }
  for (std::size_t i = 0; i < system.inputs().size(); ++i) {
    const system::InputInfo& info = system.inputs()[i];
    out["inputs"].push_back({{"name", info.name},
                             {"unit", info.unit},
                             {"meaning", info.meaning},
                             {"value", io::number_or_null(system.input_at(static_cast<int>(i), model.start.t0))}});
  }
  for (const system::OutputInfo& info : system.outputs()) {
    Json entry{{"name", info.name}, {"unit", info.unit}, {"meaning", info.meaning}};
    if (!info.components.empty()) entry["components"] = info.components;
    out[info.is_state ? "states" : "outputs"].push_back(std::move(entry));
  }
  for (const system::Event& event : system.events()) out["events"].push_back({{"name", event.name}});
  const auto* assembly = dynamic_cast<const multibody::Assembly*>(&system);
  for (int b = 0; b < system.body_count(); ++b) {
    Json entry{{"name", system.body_name(b)}};
    if (assembly != nullptr) entry["mass"] = assembly->mechanism().bodies[static_cast<std::size_t>(b)].mass;
    out["bodies"].push_back(std::move(entry));
  }
  if (assembly == nullptr) return out;
  const std::size_t bodies = assembly->mechanism().bodies.size();
  for (std::size_t e = bodies; e < assembly->elements().size(); ++e) {
    const multibody::Element& element = *assembly->elements()[e];
    const multibody::Facets facets = element.facets();
    if (element.type() == "state" || element.type() == "limit" || (facets.rows == 0 && !facets.has_force)) continue;
    Json entry{{"name", element.name()}, {"type", element.type()}, {"bodies", names_on(*assembly, element.nodes())}};
    if (!assembly->active()[e]) entry["active"] = false;
    out[facets.rows == 0 ? "forces" : facets.is_driver ? "drivers" : "joints"].push_back(std::move(entry));
  }
  return out;
}

}  // namespace kreisel::apps
