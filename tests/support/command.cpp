#include "support/command.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "kreisel/method/catalogue.hpp"

namespace kreisel::support {
namespace {

bool is_known(const std::vector<ParameterInfo>& infos, const std::string& key) {
  return std::any_of(infos.begin(), infos.end(), [&](const ParameterInfo& info) { return info.name == key; });
}

}  // namespace

Experiment parse_command(const std::string& command) {
  std::istringstream words(command);
  std::string program, verb;
  Experiment e;
  words >> program >> verb >> e.model;
  if (program != "kreisel" || verb != "run") throw std::invalid_argument("not a run: " + command);

  std::vector<std::pair<std::string, std::string>> sets;
  for (std::string flag, value; words >> flag;) {
    if (!(words >> value)) throw std::invalid_argument(flag + " lacks its value: " + command);
    if (flag == "--method") e.options.method = value;
    else if (flag == "--order") e.options.order = std::stoi(value);
    else if (flag == "--step") e.options.step = std::stod(value);
    else if (flag == "--t-end") e.options.t_end = std::stod(value);
    else if (flag == "--formulation") e.options.formulation = value;
    else if (flag == "--group") e.group = value;
    else if (flag == "--starting") e.options.starting = value;
    else if (flag == "--correction") e.options.correction = value;
    else if (flag == "--set") sets.push_back({value.substr(0, value.find('=')), value.substr(value.find('=') + 1)});
    else throw std::invalid_argument("unknown option " + flag + ": " + command);
  }
  const method::MethodInfo& method = method::find_method(e.options.method);
  e.options.method_parameters = ParameterValues(method.parameters);
  for (const auto& [key, value] : sets) {
    if (is_known(models::find_model(e.model).parameters, key))
      e.model_settings.push_back({key, value});
    else
      e.options.method_parameters.set(method.name, method.parameters, key, value);
  }
  return e;
}

}  // namespace kreisel::support
