// `kreisel check FILE`, and some steps of a run when it finds nothing wrong.
#include "io/result/prepare.hpp"
#include "kreisel/error.hpp"
#include "program.hpp"
#include "run/integrator.hpp"

namespace {

/// Ends a run that goes well after some points.
class Impatient final : public kreisel::run::Observer {
 public:
  bool accept(const kreisel::run::Point&) override { return ++points_ < 10; }

 private:
  int points_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const kreisel::fuzz::MemoryFile file(data, size);
  kreisel::io::RunSpec spec;
  spec.model = file.path();
  try {
    // The program takes milliseconds to come up, so it gets only what is worth them.
    kreisel::io::prepare_model(spec);
    kreisel::fuzz::run_program({"check", file.path(), "--json"});
    spec.set("max_steps", 10L).set("newton_iterations", 10L);
    const kreisel::io::PreparedRun run = kreisel::io::prepare(spec);
    Impatient observer;
    kreisel::run::integrate(*run.model.system, run.model.start, run.options, observer);
  } catch (const kreisel::InvalidInput&) {
  }
  return 0;
}
