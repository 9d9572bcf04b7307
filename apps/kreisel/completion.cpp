// kreisel completion: the options of the parser as a completion script for a shell.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>

#include "command.hpp"
#include "io/model_file/model_catalogue.hpp"
#include "kreisel/error.hpp"
#include "study/figures.hpp"

namespace kreisel::apps {
namespace {

/// One option of a subcommand as shells see it.
struct Flag {
  std::string name, meaning;  ///< name without hyphens
  bool takes_value = false;
  bool takes_path = false;
  std::vector<std::string> words;
};

struct Subcommand {
  std::string name, meaning;
  std::vector<Flag> flags;
  std::vector<std::string> words;  ///< for its positional argument
};

/// What the help calls values that are paths.
constexpr std::string_view path_types[] = {"FILE", "DIR", "RESULT"};

std::vector<std::string> figure_ids() {
  std::vector<std::string> ids;
  for (const study::Figure& figure : study::figures()) ids.emplace_back(figure.id);
  return ids;
}

std::vector<std::string> positional_words(const std::string& subcommand) {
  if (subcommand == "run" || subcommand == "check" || subcommand == "static" || subcommand == "modes" ||
      subcommand == "inverse" || subcommand == "fit")
    return io::model_names();
  if (subcommand == "list") return list_topics();
  if (subcommand == "schema") return schema_topics();
  if (subcommand == "reproduce") return figure_ids();
  if (subcommand == "study") return study_names();
  if (subcommand == "completion") return {"bash", "zsh", "fish"};
  return {};
}

std::vector<Subcommand> subcommands_of(const CLI::App& program) {
  std::vector<Subcommand> list;
  for (const CLI::App* parser : program.get_subcommands([](const CLI::App*) { return true; })) {
    Subcommand subcommand{parser->get_name(), parser->get_description(), {}, positional_words(parser->get_name())};
    for (const CLI::Option* option : parser->get_options()) {
      if (option->get_lnames().empty()) continue;
      const std::string& name = option->get_lnames().front();
      const bool takes_value = option->get_items_expected_max() > 0;
      subcommand.flags.push_back({name, option->get_description(), takes_value,
                                  std::ranges::find(path_types, option->get_type_name()) != std::end(path_types),
                                  words_of(name)});
    }
    list.push_back(std::move(subcommand));
  }
  return list;
}

/// For single-quoted strings of a shell; colons and brackets are special to zsh's _arguments.
std::string plain(std::string text) {
  for (char& c : text)
    if (c == '\'' || c == '"' || c == '`' || c == '$' || c == '\\' || c == '\n') c = ' ';
  return text;
}
std::string plain_for_zsh(std::string text) {
  text = plain(std::move(text));
  for (char& c : text)
    if (c == ':' || c == '[' || c == ']') c = ' ';
  return text;
}

std::string bash_script(const std::vector<Subcommand>& subcommands) {
  std::vector<std::string> names;
  for (const Subcommand& s : subcommands) names.push_back(s.name);
  std::string out = fmt::format(
      "# bash completion for kreisel: source <(kreisel completion bash)\n"
      "_kreisel() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}} $before\" in\n",
      fmt::join(names, " "));
  for (const Subcommand& s : subcommands)
    for (const Flag& flag : s.flags) {
      if (!flag.words.empty())
        out += fmt::format("    '{} --{}') COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n", s.name, flag.name,
                           fmt::join(flag.words, " "));
      else if (flag.takes_path)
        out += fmt::format("    '{} --{}') COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", s.name, flag.name);
      else if (flag.takes_value)
        out += fmt::format("    '{} --{}') return ;;\n", s.name, flag.name);
    }
  out += "  esac\n  case \"${COMP_WORDS[1]}\" in\n";
  for (const Subcommand& s : subcommands) {
    std::vector<std::string> flags;
    for (const Flag& flag : s.flags) flags.push_back("--" + flag.name);
    out += fmt::format("    {}) COMPREPLY=($(compgen -W '{} {}' -- \"$word\")) ;;\n", s.name, fmt::join(s.words, " "),
                       fmt::join(flags, " "));
  }
  return out + "  esac\n}\ncomplete -F _kreisel kreisel\n";
}

std::string zsh_script(const std::vector<Subcommand>& subcommands) {
  std::string out =
      "#compdef kreisel\n"
      "# zsh completion for kreisel: kreisel completion zsh > a folder of $fpath, named _kreisel\n"
      "_kreisel() {\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const Subcommand& s : subcommands) out += fmt::format("    '{}:{}'\n", s.name, plain_for_zsh(s.meaning));
  out +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe 'command' commands\n"
      "    return\n"
      "  fi\n"
      "  case $words[2] in\n";
  for (const Subcommand& s : subcommands) {
    out += fmt::format("    {})\n      shift words; (( CURRENT-- ))\n      _arguments", s.name);
    for (const Flag& flag : s.flags) {
      const std::string value = !flag.words.empty() ? fmt::format(":value:({})", fmt::join(flag.words, " "))
                                : flag.takes_path   ? ":path:_files"
                                : flag.takes_value  ? ":value:"
                                                    : "";
      out += fmt::format(" \\\n        '{}--{}[{}]{}'", flag.name == "set" ? "*" : "", flag.name,
                         plain_for_zsh(flag.meaning), value);
    }
    if (!s.words.empty()) out += fmt::format(" \\\n        '1:argument:({})'", fmt::join(s.words, " "));
    out += "\n      ;;\n";
  }
  return out +
         "  esac\n}\nif [ \"$funcstack[1]\" = _kreisel ]; then _kreisel \"$@\"; else compdef _kreisel kreisel; fi\n";
}

std::string fish_script(const std::vector<Subcommand>& subcommands) {
  std::string out =
      "# fish completion for kreisel: kreisel completion fish > ~/.config/fish/completions/kreisel.fish\n"
      "complete -c kreisel -f\n"
      "complete -c kreisel -n __fish_use_subcommand -l version -d 'show versions'\n";
  for (const Subcommand& s : subcommands) {
    out += fmt::format("complete -c kreisel -n __fish_use_subcommand -a {} -d '{}'\n", s.name, plain(s.meaning));
    const std::string when = fmt::format("complete -c kreisel -n '__fish_seen_subcommand_from {}'", s.name);
    if (!s.words.empty()) out += fmt::format("{} -a '{}'\n", when, fmt::join(s.words, " "));
    for (const Flag& flag : s.flags) {
      const std::string value = !flag.words.empty() ? fmt::format(" -x -a '{}'", fmt::join(flag.words, " "))
                                : flag.takes_path   ? " -r -F"
                                : flag.takes_value  ? " -x"
                                                    : "";
      out += fmt::format("{} -l {}{} -d '{}'\n", when, flag.name, value, plain(flag.meaning));
    }
  }
  return out;
}

class Completion final : public Command {
 public:
  Completion(CLI::App& parser, const CLI::App& program) : Command(parser), program_(program) {
    parser.add_option("SHELL", shell_, "bash, zsh or fish")->type_name("");
    parser.footer(
        "Examples:\n"
        "  source <(kreisel completion bash)\n"
        "  kreisel completion zsh > ~/.zsh/completions/_kreisel\n"
        "  kreisel completion fish > ~/.config/fish/completions/kreisel.fish");
  }

  int execute(const Invocation&) override {
    const std::vector<Subcommand> subcommands = subcommands_of(program_);
    if (shell_ == "bash")
      fmt::print("{}", bash_script(subcommands));
    else if (shell_ == "zsh")
      fmt::print("{}", zsh_script(subcommands));
    else if (shell_ == "fish")
      fmt::print("{}", fish_script(subcommands));
    else
      throw InvalidInput(unknown_name("shell", shell_, {"bash", "zsh", "fish"}));
    return success;
  }

 private:
  const CLI::App& program_;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion(CLI::App& program) {
  return std::make_unique<Completion>(*program.add_subcommand("completion", "Print a completion script for a shell"),
                                      program);
}

}  // namespace kreisel::apps
