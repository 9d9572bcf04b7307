// kreisel static: where a model rests, and whether it stays there.
#include <fmt/format.h>

#include <cmath>

#include "analysis.hpp"
#include "command.hpp"
#include "io/result/prepare.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "terminal.hpp"

namespace kreisel::apps {
namespace {

using io::Json;

class Static final : public Command {
 public:
  explicit Static(CLI::App& parser) : Command(parser), model_(parser) {
    parser.add_flag_callback(
        "--assemble", [this] { spec_.set("assemble", true); }, "first move the bodies so that they satisfy the joints");
    parser.add_flag("--json", is_json_, "print one JSON object");
    parser.footer(
        "Finds positions, states and constraint forces at rest under all forces, from the initial positions downhill.\n"
        "Drivers stay where they are at the start. Exit code 0 if an equilibrium was found, 3 if not.\n"
        "Examples:\n  kreisel static double-pendulum\n  kreisel static quarter-car --set m=300 --json");
  }

  int execute(const Invocation& invocation) override {
    model_.fill(spec_);
    const models::Model model = io::prepare_model(spec_);
    const Resting resting = rest(model);
    if (invocation.wants_json)
      fmt::print("{}", io::to_text(to_json(model, resting)));
    else if (resting.equilibrium.is_found)
      print(model, resting);
    if (!resting.equilibrium.is_found) {
      print_error(fmt::format("no equilibrium: {}", resting.equilibrium.message));
      return analysis_failed;
    }
    return success;
  }

 private:
  static Json to_json(const models::Model& model, const Resting& r) {
    const analysis::Equilibrium& e = r.equilibrium;
    Json out{{"model", model.name},
             {"group", model.group},
             {"status", e.is_found ? "success" : "no-equilibrium"},
             {"message", e.message},
             {"iterations", e.iterations}};
    if (!e.is_found) return out;
    out["q"] = list_of(e.motion.q);
    out["lambda"] = list_of(e.lambda);
    out["limits"] = closed_limits(r.system(model));
    out["bodies"] = poses_of(r.system(model), e.motion);
    out["outputs"] = outputs_of(r.system(model), e.motion, e.lambda);
    out["energy"] = number(model.system->energy(e.motion));
    out["stability"] = r.modes ? Json(word_of(*r.modes)) : Json(nullptr);
    out["growth"] = r.modes ? number(analysis::stability_of(*r.modes).growth) : Json(nullptr);
    return out;
  }

  static void print(const models::Model& model, const Resting& r) {
    const system::System& system = r.system(model);
    const analysis::Equilibrium& e = r.equilibrium;
    fmt::print("{}\n", coloured(fmt::format("{} on {}", model.name, model.group), Colour::bold, stdout));
    fmt::print("  equilibrium  {}\n", e.iterations == 0 ? std::string("the initial positions")
                                                        : fmt::format("found after {} iteration{}", e.iterations,
                                                                      e.iterations == 1 ? "" : "s"));
    if (const std::vector<std::string> limits = closed_limits(system); !limits.empty())
      fmt::print("  leans on     {}\n", fmt::join(limits, ", "));
    fmt::print("  stability    {}\n", r.modes ? in_words(*r.modes) : r.why_no_modes);
    if (const double energy = system.energy(e.motion); std::isfinite(energy))
      fmt::print("  energy       {:.9g} J\n", energy);
    print_outputs(system, e.motion, e.lambda);
    print_poses(system, e.motion);
    print_reactions(system, e.motion, e.lambda);
  }

  ModelArguments model_;
  io::RunSpec spec_;
  bool is_json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_static(CLI::App& program) {
  return std::make_unique<Static>(
      *program.add_subcommand("static", "Find where a model is at rest, and if it is stable"));
}

}  // namespace kreisel::apps
