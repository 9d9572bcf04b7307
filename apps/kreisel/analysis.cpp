#include "analysis.hpp"

#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "kreisel/error.hpp"

namespace kreisel::apps {

SmallMotions small_motions(const io::OperatingPoint& point) {
  // Full matrices of more coordinates take seconds.
  constexpr int most_coordinates = 300;
  if (point.system->space().nv() > most_coordinates)
    return {{}, "not computed for so many coordinates; use 'kreisel modes'"};
  try {
    const analysis::Linearization linear = analysis::linearize(*point.system, point.motion, point.lambda);
    return {analysis::modes_of(*point.system, point.motion, linear), ""};
  } catch (const InvalidInput& error) {
    return {{}, fmt::format("not known: {}", error.what())};
  }
}

std::string word_of(const std::vector<analysis::Mode>& modes) {
  return analysis::stability_of(modes).is_stable ? "stable" : "unstable";
}

std::string in_words(const std::vector<analysis::Mode>& modes) {
  const analysis::Stability s = analysis::stability_of(modes);
  if (s.is_stable) return "stable";
  for (const analysis::Mode& mode : modes)
    if (mode.eigenvalue.real() == s.growth)
      return fmt::format("unstable: a motion of '{}' grows by a factor e in {:.3g} s", mode.largest, 1.0 / s.growth);
  return "unstable";
}

Along read_along(const std::string& text) {
  const auto refuse = [&] {
    throw InvalidInput(
        fmt::format("--along is '{}', expected NAME=FROM:TO or NAME=FROM:TO:POINTS, as in omega=0:100:51", text));
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) refuse();
  Along along{.parameter = text.substr(0, equals)};
  std::vector<double> numbers;
  for (std::size_t at = equals + 1; at <= text.size();) {
    const std::size_t colon = std::min(text.find(':', at), text.size());
    const std::optional<double> value = number_in(text.substr(at, colon - at));
    if (!value) refuse();
    numbers.push_back(*value);
    at = colon + 1;
  }
  if (numbers.size() < 2 || numbers.size() > 3 || numbers[0] == numbers[1]) refuse();
  along.from = numbers[0];
  along.to = numbers[1];
  if (numbers.size() == 3) {
    if (!(numbers[2] >= 2.0 && numbers[2] <= 1e5 && numbers[2] == std::floor(numbers[2]))) refuse();
    along.points = static_cast<int>(numbers[2]);
  }
  return along;
}

std::string label_of(const io::PreparedRun& run, const std::string& parameter) {
  const Field* field = run.model_info != nullptr ? find_field(run.model_info->parameters, parameter) : nullptr;
  return field == nullptr || field->unit.empty() ? parameter : fmt::format("{} [{}]", parameter, field->unit);
}

void PlotFiles::add_to(CLI::App& parser) {
  parser.add_option("--html", page, "write a page with plots to this file")->type_name("FILE");
  parser.add_option("--svg", pictures, "write the plots as pictures to this folder")->type_name("FOLDER");
}

void PlotFiles::write(const io::ReportData& data, bool is_quiet) const {
  if (!page.empty()) {
    io::refuse_to_overwrite(io::ReadingList::of_all(), page, "html");
    io::write_report(data, page);
  }
  if (!page.empty() && !is_quiet) fmt::print("  page         {}\n", page);
  if (pictures.empty()) return;
  for (const io::Path& file : io::write_pictures(data, pictures))
    if (!is_quiet) fmt::print("  picture      {}\n", file.string());
}

void print_outputs(const system::System& system, const system::Motion& m, const Vector& lambda) {
  Vector values = Vector::Zero(system.output_size());
  system.evaluate_outputs(m, lambda, values);
  int at = 0;
  for (const system::OutputInfo& info : system.outputs()) {
    fmt::print("  output       {} = {:.9g} {}\n", info.name, fmt::join(values.segment(at, info.size()), ", "),
               info.unit);
    at += info.size();
  }
}

void print_poses(const system::System& system, const system::Motion& m) {
  constexpr int most = 20;
  for (int b = 0; b < std::min(most, system.body_count()); ++b)
    fmt::print("  position     {} at {:.9g} m\n", system.body_name(b), fmt::join(system.body_pose(b, m.q).x, ", "));
  if (system.body_count() > most) fmt::print("  position     {} more, see --json\n", system.body_count() - most);
}

void print_reactions(const system::System& system, const system::Motion& m, const Vector& lambda) {
  constexpr int most = 20;
  for (int j = 0; j < std::min(most, system.joint_count()); ++j) {
    const system::Reaction r = system.reaction(j, m, lambda);
    fmt::print("  reaction     {}: force {:.6g} N, torque {:.6g} N m\n", system.joint_name(j), fmt::join(r.force, ", "),
               fmt::join(r.torque, ", "));
  }
  if (system.joint_count() > most) fmt::print("  reaction     {} more, see --json\n", system.joint_count() - most);
}

}  // namespace kreisel::apps
